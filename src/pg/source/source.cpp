#include "pg/source/source.hpp"

#include "pg/source/random_blocks.hpp"

#include "pg/bridge/nodes.hpp"
#include "pg/source/grouped_query.hpp"
#include "pg/source/scan.hpp"
#include "pg/values/feature_type.hpp"

#include <deque>
#include <numeric>

namespace btml::pg {

using relational::DataColumn;
using relational::Key;
using relational::KeyColumn;

Source::Source(const GivenSource& given, bool as_one_query, std::string name) : name_(std::move(name)) {
    const char *const source = given.text.c_str(), *const called = name_.c_str();
    List* const args = given.args;
    analysis_ = pg_call([=] { return analyse_source(source, args, as_one_query, called); });
    for (const SourceOutput* output : items<const SourceOutput>(analysis_->outputs)) {
        const Oid type = output->type;
        columns_.push_back({output->name ? output->name : "", pg_call([=] { return getBaseType(type); }),
                            output->relation, type, output->typmod, output->collation,
                            pg_call([=] { return number_kind(type); })});
    }
}

std::optional<int> Source::find(std::string_view name) const {
    std::optional<int> found;
    for (size_t i = 0; i < columns_.size(); i++) {
        if (columns_[i].name != name) continue;
        if (found)
            throw Error(ErrorCode::duplicate_column,
                        format("%s has more than one column \"%s\"", name_.c_str(), columns_[i].name.c_str()), "",
                        "Give each output column a name of its own.");
        found = static_cast<int>(i);
    }
    return found;
}

int Source::column(const std::string& name) const {
    if (const std::optional<int> found = find(name)) return *found;
    std::vector<std::string> names;
    for (const Column& column : columns_) names.push_back(column.name);
    const std::string nearest = nearest_name(name, names);
    throw Error(ErrorCode::undefined_column, format("%s has no column \"%s\"", name_.c_str(), name.c_str()),
                names.empty() ? "It has no columns." : "Its columns are " + quoted_list(names) + ".",
                nearest.empty() ? "" : format("Perhaps you meant \"%s\".", nearest.c_str()));
}

void Source::require_distinct_names() const {
    for (const Column& candidate : columns_) find(candidate.name);
}

std::vector<TextRow> text_rows(const std::string& sql, const char* phase, RunContext& context) {
    const Source source = Source::of_rows(sql);
    const size_t columns = source.columns().size();
    std::vector<TextRow> rows;
    EachRow sink([&](const Datum* values, const bool* nulls) {
        TextRow& row = rows.emplace_back(columns);
        for (size_t i = 0; i < columns; i++)
            if (!nulls[i]) row[i] = pg_call([=] { return bytes_of(values[i], TEXTOID); });
        return true;
    });
    source.read_rows(sink, phase, context);
    return rows;
}

void require_number(const Source::Column& column, const char* role, const char* detail, const std::string& or_else) {
    if (is_plain_number(column.number)) return;
    throw Error(ErrorCode::wrong_type,
                format("%s \"%s\" is of type %s, not a number", role, column.name.c_str(), type_name(column.type)),
                detail, cast_hint(column.name, column.type) + or_else + ".");
}

void require_boolean(const Source::Column& column, const char* role) {
    if (column.type == BOOLOID) return;
    throw Error(ErrorCode::wrong_type,
                format("%s \"%s\" is of type %s, not boolean", role, column.name.c_str(), type_name(column.type)), "",
                format("Compare it with a value that holds rows out: \"%s\" = …", column.name.c_str()));
}

void require_category(const Source::Column& column, const char* role) {
    require_category_type(role, column.name, column.type, column.collation);
}

namespace {

constexpr uint64_t null_content = 1; // as likely as any hash of a key
constexpr uint64_t label_work = 20;  // units of work of a label that is made, compared or moved

DataColumn empty_column(const char* name, DataColumn::Kind kind, MemoryBudget& budget) {
    static constexpr char what[] = "columns of the source";
    return {name, kind, Buffer<double>(budget, what), Buffer<uint32_t>(budget, what), {}};
}

// One column that is carried along: its data and what is needed to finish it.
struct CategoryColumn {
    int table, column;
    CategoryOrder is_less;
    KeyDictionary* labels;
};

// A column that is carried along, or a total.
struct PendingColumn {
    const SourceOutput* output;   // null: a total
    ColumnSink sink;              // without its place in memory
    std::vector<int> others = {}; // of a vector, the columns of its elements but the first
};

// A vector that was asked for: its place until it is spread, and what is read of it.
struct PendingVector {
    size_t request;
    int table, column;
    VectorColumn read;
    std::vector<double> null_row = {}; // what its elements are in a row without a match; empty: NULL
};

// One base relation's query, and where its columns go.
struct TableQuery {
    const SourceRelation* relation;
    List* expressions = NIL;
    List* null_row = NIL; // what each is in a row without a match
    bool is_grouped = false;
    std::vector<ColumnSink> keys = {};
    std::vector<PendingColumn> columns = {}; // those of the loaded table
    std::vector<KeptColumn> kept = {};

    // Returns the place of the expression in the query's result.
    int add(Node* expression, const SourceOutput* output, int output_number) {
        const int position = relation->whole ? output_number : list_length(expressions);
        pg_call([=, this] {
            expressions = lappend(expressions, expression);
            Node* const in_null_row = output ? output->null_row : nullptr;
            null_row = lappend(null_row, in_null_row ? in_null_row : as_node(makeNullConst(INT4OID, -1, InvalidOid)));
        });
        return position;
    }
};

// The query of a relation with these expressions for its columns.
Query* with_columns(const SourceRelation* relation, List* expressions) {
    Query* const query = copy_of(relation->query);
    if (relation->whole) return query;
    AttrNumber number = 0;
    for (const Expr* const expression : items<const Expr>(expressions))
        query->targetList =
            lappend(query->targetList, makeTargetEntry(copy_of(expression), ++number, pstrdup("column"), false));
    return query;
}

// Names the column, or the table, in errors of values in a row without a match.
class NullRowContext {
  public:
    explicit NullRowContext(std::string place) : place_(std::move(place)) {
        callback_ = {error_context_stack, describe, place_.data()};
        error_context_stack = &callback_;
    }
    ~NullRowContext() { error_context_stack = callback_.previous; }
    NullRowContext(const NullRowContext&) = delete;
    NullRowContext& operator=(const NullRowContext&) = delete;

  private:
    static void describe(void* place) {
        errcontext("btml source %s in a row without a match, computed even where every row has one",
                   static_cast<const char*>(place));
    }

    std::string place_;
    ErrorContextCallback callback_;
};

Query* query_without_tables(List* expressions) {
    Query* const query = makeNode(Query);
    query->commandType = CMD_SELECT;
    query->canSetTag = true;
    query->jointree = makeFromExpr(NIL, nullptr);
    AttrNumber number = 0;
    for (Expr* const expression : items<Expr>(expressions))
        query->targetList = lappend(query->targetList, makeTargetEntry(expression, ++number, pstrdup("column"), false));
    return query;
}

// Builds the queries of all base relations, runs them and collects the columns.
class Reading {
  public:
    Reading(const SourceAnalysis& analysis, RunContext& context) : analysis_(analysis), context_(context) {
        for (const SourceRelation* const relation : items<const SourceRelation>(analysis.relations))
            queries_.push_back({relation});
        tables_.resize(queries_.size());
        kept_.resize(queries_.size());
        prepare_keys();
    }

    void add_request(const ColumnRequest& request) {
        const auto* const output = items<const SourceOutput>(analysis_.outputs)[request.output];
        const Oid type = pg_call([=] { return getBaseType(output->type); });
        const int table = output->relation;
        TableQuery& query = queries_[table];
        ColumnSink sink;
        sink.position = query.add(output->expression, output, request.output);
        sink.type = type;
        sink.name = output->name;
        if (request.as == ReadAs::as_is) {
            places_.push_back({table, static_cast<int>(query.kept.size())});
            query.kept.push_back({sink.position, output->type, output->typmod});
            return;
        }
        elements_.resize(places_.size() + 1);
        if (request.as == ReadAs::vector) {
            const int column = static_cast<int>(tables_[table].columns.size());
            vectors_.push_back({places_.size(), table, column, {request.array, request.length, request.length > 0}});
            sink.vector = &vectors_.back().read;
        } else if (request.as == ReadAs::number) {
            sink.number = number_kind(type);
            sink.time_cast = request.time_cast;
        } else if (request.as == ReadAs::group) {
            const KeyType group{KeyKind::generic, type, output->collation};
            group_values_.push_back(std::make_unique<KeyDictionary>(context_.memory(), group));
            sink.dictionary = group_values_.back().get();
        } else {
            const bool is_text = request.as == ReadAs::text;
            sink.dictionary = dictionary(pg_call([=] {
                return is_text ? label_rule(type, CurrentMemoryContext) : category_rule(type, CurrentMemoryContext);
            }));
        }
        const int column = add_column(table, output, output->name, sink);
        places_.push_back({table, column});
        if (request.as == ReadAs::category || request.as == ReadAs::text)
            categories_.push_back({table, column, CategoryOrder(stored_type_name(type)), sink.dictionary});
    }

    // After all requests.
    void group(const GroupedRelation& grouped) {
        TableQuery& query = queries_[grouped.relation];
        query.is_grouped = true;
        for (Node* const total : items<Node>(grouped.totals)) {
            ColumnSink sink;
            sink.position = query.add(total, nullptr, -1);
            sink.type = FLOAT8OID;
            sink.number = NumberKind::float8;
            total_places_.push_back({grouped.relation, add_column(grouped.relation, nullptr, "total", sink)});
        }
    }

    LoadedSource run(RowContents contents) {
        std::vector<Timing> timings{{"reading tables", 0}, {"joining tables", 0}};
        {
            const Stopwatch watch(timings[0].seconds);
            read_tables(contents);
        }
        std::optional<Stopwatch> watch(timings[1].seconds);
        relational::Join join(std::move(tables_), std::move(left_joins_), context_);
        watch.reset();
        elements_.resize(places_.size());
        return {std::move(join),          std::move(places_), std::move(elements_), std::move(total_places_),
                std::move(group_values_), std::move(kept_),   std::move(timings)};
    }

  private:
    // Gives each join attribute and each pair of keys of a left join its dictionary, and each key its column.
    void prepare_keys() {
        MemoryBudget& budget = context_.memory();
        std::vector<KeyDictionary*> by_attribute(list_length(analysis_.attributes), nullptr);
        for (size_t table = 0; table < tables_.size(); table++) {
            const auto keys = items<const SourceKey>(items<SourceRelation>(analysis_.relations)[table]->keys);
            for (const SourceKey* key : keys)
                tables_[table].keys.push_back({key->attribute, Buffer<Key>(budget, "join keys")});
            for (int i = 0; i < keys.size(); i++) {
                KeyDictionary*& shared = by_attribute[keys[i]->attribute];
                if (!shared) shared = dictionary(keys[i]->type);
                add_key(static_cast<int>(table), keys[i], shared, &tables_[table].keys[i].values);
            }
        }
        for (const SourceLeftJoin* join : items<const SourceLeftJoin>(analysis_.left_joins)) {
            const auto left = items<const SourceKey>(join->left_keys), right = items<const SourceKey>(join->right_keys);
            relational::LeftJoin& stored =
                left_joins_.emplace_back(relational::LeftJoin{join->left, join->right, {}, {}});
            for (int i = 0; i < left.size(); i++) {
                stored.left_keys.emplace_back(budget, "join keys");
                stored.right_keys.emplace_back(budget, "join keys");
            }
            for (int i = 0; i < left.size(); i++) {
                KeyDictionary* const shared = dictionary(left[i]->type);
                add_key(join->left, left[i], shared, &stored.left_keys[i]);
                add_key(join->right, right[i], shared, &stored.right_keys[i]);
            }
        }
    }

    // type: of keys, or the rule of labels.
    KeyDictionary* dictionary(const auto& type) {
        dictionaries_.push_back(std::make_unique<KeyDictionary>(context_.memory(), type));
        return dictionaries_.back().get();
    }

    void add_key(int table, const SourceKey* key, KeyDictionary* dictionary, Buffer<Key>* values) {
        ColumnSink sink;
        sink.type = pg_call([=] { return getBaseType(exprType(key->expression)); });
        sink.dictionary = dictionary;
        sink.codes = values;
        sink.position = queries_[table].add(key->expression, nullptr, -1);
        queries_[table].keys.push_back(sink);
    }

    // Returns its number.
    int add_column(int table, const SourceOutput* output, const char* name, const ColumnSink& sink) {
        queries_[table].columns.push_back({output, sink});
        const auto kind = sink.dictionary ? DataColumn::Kind::category : DataColumn::Kind::number;
        tables_[table].columns.push_back(empty_column(name, kind, context_.memory()));
        return static_cast<int>(tables_[table].columns.size()) - 1;
    }

    void read_tables(RowContents contents) {
        const int tables = list_length(analysis_.relations);
        for (int table = 0; table < tables; table++) read_table(table);
        finish_categories();
        for (int table = 0; table < tables && contents != RowContents::unread; table++)
            read_contents(table, contents == RowContents::distinct);
    }

    void read_table(int table) {
        const TableQuery& query = queries_[table];
        relational::Table& loaded = tables_[table];
        loaded.name = query.relation->name;
        if (!query.kept.empty()) kept_[table] = std::make_unique<KeptRows>(query.kept, context_.memory());
        const Query* const tree = pg_call([&] {
            Query* const made = with_columns(query.relation, query.expressions);
            if (query.is_grouped) group_by_columns(made);
            return made;
        });
        loaded.rows = scan(tree, analysis_.text, query.relation->name, sinks_of(table), kept_[table].get(), context_);
        for (KeyColumn& key : loaded.keys) key.values.shrink_to_fit();
        for (DataColumn& column : loaded.columns) {
            column.numbers.shrink_to_fit();
            column.codes.shrink_to_fit();
        }
        read_null_row(table);
        for (PendingVector& vector : vectors_)
            if (vector.table == table) spread(vector);
        if (!kept_[table]) return;
        number_rows(table);
        keep_null_row(table);
    }

    std::vector<ColumnSink> sinks_of(int table) {
        std::vector<ColumnSink> sinks = queries_[table].keys;
        for (size_t i = 0; i < queries_[table].columns.size(); i++) {
            ColumnSink& sink = sinks.emplace_back(queries_[table].columns[i].sink);
            if (sink.dictionary)
                sink.codes = &tables_[table].columns[i].codes;
            else if (!sink.vector)
                sink.numbers = &tables_[table].columns[i].numbers;
        }
        return sinks;
    }

    // Makes columns of a vector's elements: the first takes the vector's place, the others stand behind all columns.
    void spread(PendingVector& vector) {
        relational::Table& loaded = tables_[vector.table];
        const std::string name = loaded.columns[vector.column].name;
        VectorColumn& read = vector.read;
        for (size_t e = 0; e < std::max<size_t>(read.length, 1); e++) {
            DataColumn made =
                empty_column(element_name(name, e + 1).c_str(), DataColumn::Kind::number, context_.memory());
            if (read.elements.empty())
                made.numbers = Buffer<double>(context_.memory(), "the elements of arrays", loaded.rows, null_number);
            else
                made.numbers = std::move(read.elements[e]);
            made.numbers.shrink_to_fit();
            if (!vector.null_row.empty()) made.null_row_number = vector.null_row[e];
            const int column = e == 0 ? vector.column : static_cast<int>(loaded.columns.size());
            if (e == 0)
                loaded.columns[column] = std::move(made);
            else
                loaded.columns.push_back(std::move(made));
            if (e > 0) queries_[vector.table].columns[vector.column].others.push_back(column);
            if (read.length > 0) elements_[vector.request].push_back({vector.table, column});
        }
    }

    // Columns that are not NULL in a row without a match: evaluated once, as a query of their own, before it is known
    // whether there is such a row.
    void read_null_row(int table) {
        relational::Table& loaded = tables_[table];
        const std::vector<PendingColumn>& columns = queries_[table].columns;
        for (size_t i = 0; i < columns.size(); i++) {
            if (!columns[i].output || !columns[i].output->null_row || columns[i].sink.vector) continue;
            Buffer<double> number(context_.memory(), "columns of the source");
            Buffer<uint32_t> code(context_.memory(), "columns of the source");
            ColumnSink sink = columns[i].sink;
            sink.numbers = sink.dictionary ? nullptr : &number;
            sink.codes = sink.dictionary ? &code : nullptr;
            read_null_row(table, columns[i].output, sink);
            if (sink.dictionary)
                loaded.columns[i].null_row_code = code[0];
            else
                loaded.columns[i].null_row_number = number[0];
        }
        for (PendingVector& vector : vectors_)
            if (vector.table == table && columns[vector.column].output->null_row)
                read_null_row(vector, columns[vector.column]);
    }

    void read_null_row(PendingVector& vector, const PendingColumn& column) {
        VectorColumn read{vector.read.rule, vector.read.length, vector.read.by_model};
        ColumnSink sink = column.sink;
        sink.vector = &read;
        read_null_row(vector.table, column.output, sink);
        for (const Buffer<double>& element : read.elements) vector.null_row.push_back(element[0]);
        vector.read.length = read.length;
    }

    void read_null_row(int table, const SourceOutput* output, ColumnSink sink) {
        const Query* const query = pg_call([=] { return query_without_tables(list_make1(output->null_row)); });
        sink.position = 0;
        const NullRowContext error_context(format("column \"%s\"", output->name));
        scan(query, analysis_.text, tables_[table].name.c_str(), {sink}, nullptr, context_);
    }

    // The row that stands for "no match" is kept behind those that were read.
    void keep_null_row(int table) {
        const std::vector<relational::LeftJoin>& joins = left_joins_;
        if (std::none_of(joins.begin(), joins.end(), [=](const auto& join) { return join.right == table; })) return;
        const Query* const tree = pg_call([&] { return query_without_tables(queries_[table].null_row); });
        const relational::Table& loaded = tables_[table];
        const NullRowContext error_context("table " + loaded.name);
        scan(tree, analysis_.text, loaded.name.c_str(), {}, kept_[table].get(), context_);
    }

    void number_rows(int table) {
        relational::Table& loaded = tables_[table];
        DataColumn numbers = empty_column("row", DataColumn::Kind::category, context_.memory());
        numbers.codes = Buffer<uint32_t>(context_.memory(), "the numbers of rows", loaded.rows);
        std::iota(numbers.codes.begin(), numbers.codes.end(), uint32_t{0});
        numbers.null_row_code = static_cast<uint32_t>(loaded.rows);
        loaded.columns.push_back(std::move(numbers));
    }

    // Numbers and categories' codes are contents by themselves, keys are numbered as they appear.
    void read_contents(int table, bool distinct) {
        relational::Table& loaded = tables_[table];
        KeptRows* const kept = kept_[table].get();
        Buffer<uint64_t> content =
            kept ? std::move(kept->contents())
                 : Buffer<uint64_t>(context_.memory(), "the contents of a source's rows", loaded.rows, uint64_t{0});
        content.resize(loaded.rows);
        const auto mix = [&](const auto& bits_of) {
            context_.for_each(loaded.rows, 1, [&](uint64_t row) { content[row] = mix64(content[row] ^ bits_of(row)); });
        };
        for (const ColumnSink& sink : queries_[table].keys) {
            const Buffer<uint64_t>& contents = sink.dictionary->contents(context_);
            mix([&, &keys = *sink.codes](uint64_t row) {
                const Key value = keys[row];
                return value == relational::null_key ? null_content : contents[value];
            });
        }
        const auto mix_column = [&](const DataColumn& column) {
            if (column.kind == DataColumn::Kind::number)
                // A negative zero equals the other.
                mix([&](uint64_t row) {
                    const double x = column.numbers[row];
                    return x == 0 ? 0 : std::bit_cast<uint64_t>(x);
                });
            else
                mix([&](uint64_t row) { return uint64_t{column.codes[row]}; });
        };
        for (size_t i = 0; i < queries_[table].columns.size(); i++) {
            mix_column(loaded.columns[i]);
            for (const int other : queries_[table].columns[i].others) mix_column(loaded.columns[other]);
        }
        if (distinct) relational::tell_equal_rows_apart(content, context_);
        loaded.content = std::move(content);
    }

    // Codes in the order of first appearance become codes in that of the labels, so that the order of rows
    // leaves no trace.
    void finish_categories() {
        for (const CategoryColumn& category : categories_) {
            DataColumn& column = tables_[category.table].columns[category.column];
            const auto count = static_cast<uint32_t>(category.labels->size());
            hold_labels(count * sizeof(std::string));
            column.categories.reserve(count);
            for (uint32_t i = 0; i < count; i++) {
                context_.worked(label_work);
                const std::string_view label = category.labels->label(i);
                hold_labels(label.size());
                column.categories.emplace_back(label);
            }
            std::vector<uint32_t> order(count);
            std::iota(order.begin(), order.end(), 0U);
            std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
                context_.worked(label_work);
                return category.is_less(column.categories[a], column.categories[b]);
            });
            renumber_categories(column, order, context_);
        }
    }

    // Counts labels as the columns hold them, and once more for the model or the points that take them over. They last
    // until the call ends, and the budget with them.
    void hold_labels(uint64_t bytes) { context_.memory().acquire(2 * bytes, "labels of categories"); }

    const SourceAnalysis& analysis_;
    RunContext& context_;
    std::vector<relational::Table> tables_;
    std::vector<relational::LeftJoin> left_joins_;
    std::vector<relational::ColumnRef> places_, total_places_;
    std::vector<std::vector<relational::ColumnRef>> elements_; // by request; empty where it is no vector
    std::deque<PendingVector> vectors_;                        // which sinks point into
    std::vector<std::unique_ptr<KeyDictionary>> group_values_;
    std::vector<std::unique_ptr<KeptRows>> kept_;
    std::vector<TableQuery> queries_; // by table
    std::vector<CategoryColumn> categories_;
    std::vector<std::unique_ptr<KeyDictionary>> dictionaries_;
};

} // namespace

LoadedSource Source::read(const std::vector<ColumnRequest>& requests, RunContext& context, RowContents contents,
                          const std::vector<GroupedRelation>& grouped) const {
    Reading reading(*analysis_, context);
    for (const ColumnRequest& request : requests) reading.add_request(request);
    for (const GroupedRelation& relation : grouped) reading.group(relation);
    return reading.run(contents);
}

uint64_t Source::read_rows(RowSink& sink, const char* phase, RunContext& context,
                           std::optional<uint64_t> block_seed) const {
    const auto* const relation = static_cast<const SourceRelation*>(linitial(analysis_->relations));
    if (!block_seed) return run_query(relation->query, analysis_->text, sink, phase, context);
    uint64_t rows = 0;
    for (const Query* query : block_queries(relation->query, *block_seed))
        if (!sink.has_enough()) rows += run_query(query, analysis_->text, sink, phase, context);
    if (rows > 0) require_blocks(relation->query);
    return rows;
}

} // namespace btml::pg
