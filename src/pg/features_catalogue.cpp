#include "pg/features_catalogue.hpp"

#include "core/features/feature_sql.hpp"
#include "core/features/sql_names.hpp"
#include "pg/bridge/nodes.hpp"

#include <map>

extern "C" {
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "common/keywords.h"
#include "parser/parse_oper.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteSupport.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"
}

namespace btml::pg {

using namespace features;

namespace {

// Says in SQL that no table but partitions inherits from one.
std::string without_heirs(const std::string& table) {
    return "NOT EXISTS (SELECT FROM pg_catalog.pg_inherits h JOIN pg_catalog.pg_class p ON p.oid = h.inhparent "
           "WHERE p.relkind = 'r' AND p.oid = " +
           table + ")";
}

// Says in SQL of an index, the row i of pg_index, that it tells all rows of its table apart: it compares columns as
// they are compared by themselves, and no other table, whose rows would not be in it, inherits from the table.
std::string is_unique_key() {
    return "i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL "
           "AND NOT EXISTS (SELECT FROM ROWS FROM (pg_catalog.unnest(i.indkey), pg_catalog.unnest(i.indcollation)) "
           "AS u(own, used), pg_catalog.pg_attribute v WHERE v.attrelid = i.indrelid AND v.attnum = u.own "
           "AND u.used <> 0 AND u.used <> v.attcollation) AND " +
           without_heirs("i.indrelid");
}

// A column of a table, 0 for none.
struct Origin {
    Oid table;
    AttrNumber column;
};

// Follows a view's column to that of the table it shows.
Origin below_views(Origin origin) {
    while (origin.table != InvalidOid && get_rel_relkind(origin.table) == RELKIND_VIEW) {
        const ::Relation view = table_open(origin.table, AccessShareLock);
        const Query* const query = get_view_query(view);
        const auto* const entry = static_cast<TargetEntry*>(list_nth(query->targetList, origin.column - 1));
        origin = {entry->resorigtbl, entry->resorigcol};
        table_close(view, AccessShareLock);
    }
    return origin;
}

std::vector<Origin> origins_of(const Source& source) {
    std::vector<Origin> origins;
    for (const TargetEntry* const entry : items<const TargetEntry>(source.analysis().query->targetList))
        if (!entry->resjunk)
            origins.push_back(pg_call([=] { return below_views({entry->resorigtbl, entry->resorigcol}); }));
    return origins;
}

std::vector<TextRow> catalogue_rows(const std::string& sql, RunContext& context) {
    return text_rows(sql, "reading the catalogue", context);
}

std::string column_name(Origin origin) {
    return pg_call([=] { return get_attname(origin.table, origin.column, false); });
}

class CatalogueReader {
  public:
    CatalogueReader(CandidateRequest& request, RunContext& context) : request_(request), context_(context) {}

    int number_of(Oid table) {
        const auto [found, is_new] = numbers_.try_emplace(table, static_cast<int>(request_.tables.size()));
        if (is_new) request_.tables.emplace_back();
        return found->second;
    }

    void read_source(const Source& source) {
        const std::vector<Origin> origins = origins_of(source);
        for (size_t i = 0; i < origins.size(); i++) {
            SourceColumn column{.name = source.columns()[i].name};
            column.type = feature_column_type(source.columns()[i].type, source.columns()[i].collation);
            if (const Origin origin = origins[i]; origin.table != InvalidOid && origin.column > 0) {
                column.table = number_of(origin.table);
                column.table_column = column_name(origin);
                request_.tables[static_cast<size_t>(column.table)].is_own = true;
            }
            request_.source.push_back(std::move(column));
        }
    }

    // Partitions have copies of the foreign keys of their tables, which are left out. Keys of a table from which others
    // inherit are of its own rows alone, and may be there again in those of the others.
    void read_foreign_keys() {
        const std::vector<TextRow> rows = catalogue_rows(
            "SELECT c.oid::text, c.conrelid::text, c.confrelid::text, a.attname::text, f.attname::text "
            "FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class t ON t.oid = c.conrelid "
            "JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace, "
            "ROWS FROM (pg_catalog.unnest(c.conkey), pg_catalog.unnest(c.confkey)) WITH ORDINALITY AS k(own, "
            "other, place), "
            "pg_catalog.pg_attribute a, pg_catalog.pg_attribute f "
            "WHERE c.contype = 'f' AND c.conparentid = 0 AND a.attrelid = c.conrelid AND a.attnum = k.own "
            "AND f.attrelid = c.confrelid AND f.attnum = k.other AND " +
                without_heirs("c.confrelid") +
                " "
                "ORDER BY n.nspname, t.relname, c.conname, k.place",
            context_);
        std::string last;
        for (const TextRow& row : rows) {
            if (row[0] != last) request_.foreign_keys.push_back({number_of(oid(row[1])), number_of(oid(row[2])), {}});
            last = row[0];
            request_.foreign_keys.back().pairs.push_back({row[3], row[4]});
        }
    }

    // Columns of keys are those of primary and foreign keys, and of unique constraints of one column.
    void read_columns() {
        const std::vector<TextRow> rows =
            catalogue_rows("SELECT c.oid::text, CASE WHEN n.oid = pg_catalog.pg_my_temp_schema() THEN 'pg_temp' "
                           "ELSE n.nspname::text END, c.relname::text, a.attname::text, a.atttypid::text, "
                           "a.attcollation::text, "
                           "(pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT') "
                           "AND pg_catalog.has_schema_privilege(n.oid, 'USAGE'))::text, "
                           "(EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid "
                           "AND a.attnum = ANY (k.conkey) AND (k.contype IN ('p', 'f') "
                           "OR (k.contype = 'u' AND pg_catalog.cardinality(k.conkey) = 1))))::text "
                           "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
                           "JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid "
                           "WHERE a.attnum > 0 AND NOT a.attisdropped AND c.oid = " +
                               any_table() + " ORDER BY c.oid, a.attnum",
                           context_);
        for (const TextRow& row : rows) {
            CatalogueTable& table = table_of(row[0]);
            table.schema = row[1];
            table.name = row[2];
            const Oid type = pg_call([&] { return getBaseType(oid(row[4])); });
            if (row[6] != "true")
                table.has_unread_time |= time_type_of(type) != TimeType::none;
            else
                table.columns.push_back(
                    {row[3], feature_column_type(type, oid(row[5])), time_type_of(type), row[7] == "true"});
        }
    }

    void read_unique_keys() {
        const std::vector<TextRow> rows = catalogue_rows(
            "SELECT i.indrelid::text, i.indexrelid::text, a.attname::text FROM pg_catalog.pg_index i, "
            "pg_catalog.unnest(i.indkey) WITH ORDINALITY AS k(own, place), pg_catalog.pg_attribute a "
            "WHERE " +
                is_unique_key() +
                " AND k.place <= i.indnkeyatts AND a.attrelid = i.indrelid AND a.attnum = k.own AND i.indrelid = " +
                any_table() + " ORDER BY i.indexrelid, k.place",
            context_);
        std::string last;
        for (const TextRow& row : rows) {
            CatalogueTable& table = table_of(row[0]);
            if (row[1] != last) table.unique_keys.emplace_back();
            last = row[1];
            table.unique_keys.back().push_back(row[2]);
        }
    }

  private:
    static Oid oid(const std::string& text) { return static_cast<Oid>(std::stoul(text)); }
    CatalogueTable& table_of(const std::string& text) {
        return request_.tables[static_cast<size_t>(number_of(oid(text)))];
    }
    std::string any_table() const {
        std::string list;
        for (const auto& [table, number] : numbers_) list += (list.empty() ? "" : ", ") + std::to_string(table);
        return "ANY ('{" + list + "}'::oid[])";
    }

    CandidateRequest& request_;
    RunContext& context_;
    std::map<Oid, int> numbers_;
};

Oid table_named(const std::string& name) {
    const char* const text = name.c_str();
    const Oid table = pg_call([=] {
        const RangeVar* const found = makeRangeVarFromNameList(btml_compat_name_list(text));
        return RangeVarGetRelid(found, AccessShareLock, false);
    });
    const char kind = pg_call([=] { return get_rel_relkind(table); });
    if (std::string("rpvmf").find(kind) != std::string::npos) return table;
    throw Error(ErrorCode::wrong_type, format("\"%s\" is neither a table nor a view", name.c_str()));
}

// Error invalid_argument where a table has lost the key by which a plan joins one row a thing.
void require_unique_keys(const Plan& plan, RunContext& context) {
    std::string joined;
    for (const features::Relation& relation : plan.relations) {
        if (!relation.unique) continue;
        std::string columns;
        for (const KeyPair& pair : relation.key) columns += (columns.empty() ? "" : ", ") + literal(pair.column);
        const std::string table = quoted_name(relation.schema) + "." + quoted_name(relation.table);
        joined += (joined.empty() ? "(" : ", (") + literal(relation.name) + ", " + literal(table) + ", ARRAY[" +
                  columns + "])";
    }
    if (joined.empty()) return;
    const std::vector<TextRow> lost =
        catalogue_rows("SELECT r.name, r.tab FROM (VALUES " + joined +
                           ") AS r(name, tab, keys) "
                           "WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_index i "
                           "WHERE i.indrelid = pg_catalog.to_regclass(r.tab) AND " +
                           is_unique_key() +
                           " AND NOT EXISTS (SELECT FROM pg_catalog.unnest(i.indkey) "
                           "WITH ORDINALITY AS k(own, place), pg_catalog.pg_attribute a WHERE k.place <= i.indnkeyatts "
                           "AND a.attrelid = i.indrelid AND a.attnum = k.own AND a.attname::text <> ALL (r.keys)))",
                       context);
    if (lost.empty()) return;
    throw Error(ErrorCode::invalid_argument,
                format("relation \"%s\" of the plan joins by a key that is not unique in %s", lost[0][0].c_str(),
                       lost[0][1].c_str()),
                "It would repeat predictions.", "Make the key unique again, or make a new plan.");
}

// A column's type, of a domain that of its values. None where the table has no such column.
struct ColumnFacts {
    Oid type = InvalidOid, collation = InvalidOid;
    int32 typmod = -1;
};

ColumnFacts column_facts(Oid table, const std::string& column) {
    const char* const name = column.c_str();
    return pg_call([=] {
        ColumnFacts facts;
        if (const AttrNumber number = get_attnum(table, name); number != InvalidAttrNumber) {
            get_atttypetypmodcoll(table, number, &facts.type, &facts.typmod, &facts.collation);
            facts.type = getBaseTypeAndTypmod(facts.type, &facts.typmod);
        }
        return facts;
    });
}

// Says whether PostgreSQL would compare the two by another collation than the column's own, or by none.
bool are_collated_otherwise(const ColumnFacts& own, const ColumnFacts& of) {
    return type_is_collatable(own.type) && type_is_collatable(of.type) && own.collation != of.collation &&
           of.collation != DEFAULT_COLLATION_OID;
}

// Replaces what a plan says of its tables by what holds of them now.
class PlanTables {
  public:
    PlanTables(Plan& plan, const Source& source, TimeType as_of) : plan_(plan), source_(source), as_of_(as_of) {}

    void read() {
        for (features::Relation& relation : plan_.relations) {
            const auto number = static_cast<int>(tables_.size());
            tables_.push_back(find(relation));
            read_time(relation);
            for (KeyPair& pair : relation.key)
                read_key(relation, pair, column_of(number, pair.column), of_column_facts(relation, pair));
        }
        for (Definition& feature : plan_.features) {
            if (feature.column.empty()) continue;
            const ColumnFacts column = column_of(feature.relation, feature.column);
            check_zone(feature, column.type);
            feature.is_unbounded = feature.type == ColumnType::number && may_exceed_float8(column);
            if (!feature.total.empty()) column_of(feature.relation, feature.total);
        }
    }

  private:
    // A table without a schema is the one that the name stands for in SQL. Another session has temporary tables, too.
    static Oid find(features::Relation& relation) {
        const char* const schema = relation.schema.empty() ? nullptr : relation.schema.c_str();
        const char* const name = relation.table.c_str();
        const Oid table = pg_call([=] {
            return RangeVarGetRelid(makeRangeVar(schema ? pstrdup(schema) : nullptr, pstrdup(name), -1), NoLock, false);
        });
        relation.schema = pg_call([=] {
            const Oid found = get_rel_namespace(table);
            return isTempNamespace(found) ? "pg_temp" : get_namespace_name(found);
        });
        return table;
    }

    // What a column of a relation's table is. Error undefined_column for one that there is not.
    ColumnFacts column_of(int relation, const std::string& column) const {
        const ColumnFacts facts = column_facts(tables_[static_cast<size_t>(relation)], column);
        if (facts.type != InvalidOid) return facts;
        throw Error(ErrorCode::undefined_column, format("relation \"%s\" of the plan has no column \"%s\"",
                                                        plan_.at(relation).name.c_str(), column.c_str()));
    }

    void read_time(features::Relation& relation) {
        if (relation.time.empty()) return;
        const ColumnFacts time = column_of(static_cast<int>(tables_.size()) - 1, relation.time);
        relation.time_type = time_type_of(time.type);
        if (relation.time_type == TimeType::none)
            throw Error(ErrorCode::wrong_type,
                        format("time \"%s\" of relation \"%s\" has type %s, not date, timestamp or timestamptz",
                               relation.time.c_str(), relation.name.c_str(), type_name(time.type)));
    }

    ColumnFacts of_column_facts(const features::Relation& relation, const KeyPair& pair) const {
        if (relation.of != source_number) return column_of(relation.of, pair.of_column);
        const Source::Column& column = source_.columns()[static_cast<size_t>(source_.column(pair.of_column))];
        return {column.type, column.collation, column.typmod};
    }

    static void read_key(const features::Relation& relation, KeyPair& pair, const ColumnFacts& own,
                         const ColumnFacts& of) {
        pair.of_is_time = time_type_of(of.type) != TimeType::none;
        pair.of_type = pg_call(
            [=] { return format_type_extended(of.type, -1, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY); });
        pair.collation = pg_call(
            [=] { return are_collated_otherwise(own, of) ? generate_collation_name(own.collation) : pstrdup(""); });
        const char* const type = own.type == of.type ? "" : pg_call([=] { return compared_type(own.type, of.type); });
        if (!type)
            throw Error(ErrorCode::wrong_type,
                        format("key \"%s\" of relation \"%s\" has type %s, \"%s\" has type %s", pair.column.c_str(),
                               relation.name.c_str(), type_name(own.type), pair.of_column.c_str(), type_name(of.type)),
                        "", "Cast one of them, in the source or in a view.");
        pair.compared_as = type;
    }

    // Returns the type that = converts to, "" where it takes both types as they are, nullptr where there is none.
    static const char* compared_type(Oid left, Oid right) {
        const Operator equals = oper(nullptr, list_make1(makeString(pstrdup("="))), left, right, true, -1);
        if (!equals) return nullptr;
        const auto form = reinterpret_cast<Form_pg_operator>(GETSTRUCT(equals));
        const bool is_exact = form->oprleft == left && form->oprright == right;
        const Oid type = form->oprleft == left ? form->oprright : form->oprleft;
        ReleaseSysCache(equals);
        if (is_exact || get_typtype(type) == TYPTYPE_PSEUDO) return "";
        return format_type_extended(type, -1, FORMAT_TYPE_FORCE_QUALIFY);
    }

    // A numeric that declares no more than 300 digits before and after the point fits.
    static bool may_exceed_float8(const ColumnFacts& column) {
        constexpr uint32_t most = 300;
        const auto digits = static_cast<uint32_t>(column.typmod - VARHDRSZ);
        return column.type == NUMERICOID && (column.typmod < 0 || digits >> 16 > most || (digits & 0xffff) > most);
    }

    // What a time with a zone and one without are apart depends on the session's TimeZone.
    void check_zone(const Definition& feature, Oid column_type) const {
        if (feature.type != ColumnType::time || plan_.as_of.empty()) return;
        const TimeType type = time_type_of(column_type);
        if (type == TimeType::none || go_together(type, as_of_)) return;
        throw Error(ErrorCode::wrong_type,
                    format("as_of \"%s\" has type %s, and column \"%s\" of relation \"%s\" has type %s",
                           plan_.as_of.c_str(), time_type_names[static_cast<size_t>(as_of_)], feature.column.c_str(),
                           plan_.at(feature.relation).name.c_str(), time_type_names[static_cast<size_t>(type)]));
    }

    Plan& plan_;
    const Source& source_;
    const TimeType as_of_;
    std::vector<Oid> tables_; // by relation
};

// Has a plan, which may come from anywhere, say of its tables what holds now: their schemas, the types of times, keys
// and numbers, collations. as_of: the type of the source's.
void refresh_tables(Plan& plan, const Source& source, TimeType as_of, RunContext& context) {
    PlanTables(plan, source, as_of).read();
    require_unique_keys(plan, context);
}

bool is_reserved(std::string_view word) {
    const int keyword = ScanKeywordLookup(std::string(word).c_str(), &ScanKeywords);
    return keyword >= 0 && ScanKeywordCategories[keyword] != UNRESERVED_KEYWORD;
}

} // namespace

TimeType time_type_of(Oid type) {
    switch (number_kind(type)) {
    case NumberKind::date:
        return TimeType::date;
    case NumberKind::timestamp:
        return TimeType::timestamp;
    case NumberKind::timestamptz:
        return TimeType::timestamptz;
    default:
        return TimeType::none;
    }
}

TimeType require_time(const Source::Column& as_of) {
    if (const TimeType type = time_type_of(as_of.type); type != TimeType::none) return type;
    throw Error(ErrorCode::wrong_type, format("as_of \"%s\" has type %s, not date, timestamp or timestamptz",
                                              as_of.name.c_str(), type_name(as_of.type)));
}

std::optional<ColumnType> feature_column_type(Oid type, Oid collation) {
    const NumberKind kind = number_kind(type);
    if (is_plain_number(kind)) return ColumnType::number;
    if (kind == NumberKind::boolean) return ColumnType::boolean;
    if (is_point_in_time(kind)) return ColumnType::time;
    if (pg_call([=] { return is_categorical(type) && category_fault(type, collation) == CategoryFault::none; }))
        return ColumnType::text;
    return {};
}

std::vector<int> read_catalogue(const Source& source, const std::vector<std::string>& named, CandidateRequest& request,
                                RunContext& context) {
    CatalogueReader reader(request, context);
    reader.read_source(source);
    std::vector<int> numbers;
    for (const std::string& name : named) numbers.push_back(name.empty() ? -1 : reader.number_of(table_named(name)));
    reader.read_foreign_keys();
    reader.read_columns();
    reader.read_unique_keys();
    return numbers;
}

std::string feature_sql_over(Plan plan, const Source& source, RunContext& context) {
    PredictionSource text{.sql = source.analysis().text, .columns = {}};
    source.require_distinct_names();
    for (const Source::Column& column : source.columns()) text.columns.push_back(column.name);
    if (!plan.as_of.empty()) {
        const Source::Column& as_of = source.columns()[static_cast<size_t>(source.column(plan.as_of))];
        text.as_of = require_time(as_of);
    }
    refresh_tables(plan, source, text.as_of, context);
    const Buffer<char> sql = feature_sql(plan, text, is_reserved, context);
    return {sql.data(), sql.size()};
}

} // namespace btml::pg
