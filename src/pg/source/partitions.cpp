#include "pg/source/partitions.hpp"

#include "pg/bridge/guard.hpp"
#include "pg/bridge/nodes.hpp"
#include "pg/bridge/postgres.hpp"
#include "pg/source/analysis.hpp"
#include "pg/source/read_tables.hpp"
#include "pg/source/row_address.hpp"

#include <vector>

extern "C" {
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "partitioning/partbounds.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/varlena.h"
}

namespace btml::pg {

namespace {

PartitionKey key_of(Oid table) {
    const Relation relation = table_open(table, AccessShareLock);
    const PartitionKey key = RelationGetPartitionKey(relation); // lasts as long as the relation is locked
    table_close(relation, NoLock);
    return key;
}

bool have_same_key(const PartitionKeyData* a, const PartitionKeyData* b) {
    if (a->strategy != b->strategy || a->partnatts != b->partnatts) return false;
    for (int i = 0; i < a->partnatts; i++)
        if (a->partattrs[i] == 0 || b->partattrs[i] == 0 || a->partopfamily[i] != b->partopfamily[i] ||
            a->partcollation[i] != b->partcollation[i] || a->parttyplen[i] != b->parttyplen[i] ||
            a->parttypbyval[i] != b->parttypbyval[i])
            return false;
    return true;
}

// A column of a partition key: its entry of the range table, 0 where it is none, and its number in the key.
using PlacedKey = std::pair<int, int>;

// The column of a partition key that the expression is, through the joins that give it other names.
PlacedKey key_column(const Query* query, Node* expression) {
    for (;;) {
        while (expression && IsA(expression, RelabelType))
            expression = as_node(reinterpret_cast<RelabelType*>(expression)->arg);
        if (!expression || !IsA(expression, Var)) return {0, 0};
        const auto* const var = reinterpret_cast<const Var*>(expression);
        if (var->varlevelsup != 0 || var->varattno <= 0) return {0, 0};
        const RangeTblEntry* const entry = rt_fetch(var->varno, query->rtable);
        if (entry->rtekind == RTE_JOIN) {
            expression = static_cast<Node*>(list_nth(entry->joinaliasvars, var->varattno - 1));
            continue;
        }
        if (entry->rtekind != RTE_RELATION || entry->relkind != RELKIND_PARTITIONED_TABLE) return {0, 0};
        const PartitionKeyData* const key = key_of(entry->relid);
        for (int i = 0; i < key->partnatts; i++)
            if (key->partattrs[i] == var->varattno) return {static_cast<int>(var->varno), i};
        return {0, 0};
    }
}

// An equality of one column of the partition key in two entries.
struct KeyEquality {
    int left, right, number;
};

// The part of a join that some of its tables make.
struct JoinedTables {
    List* entries;    // of int: the partitioned ones
    List* equalities; // of KeyEquality*, which hold for rows that are no null rows
    int columns;      // of the partition key
    bool are_valid;   // false: an outer join keeps rows that partitions do not have
};

// Adds the equalities among the condition's conjuncts.
void add_equalities(const Query* query, Node* condition, List** found) {
    for (Node* const conjunct : items<Node>(make_ands_implicit(reinterpret_cast<Expr*>(condition)))) {
        if (is_andclause(conjunct)) {
            for (Node* const part : items<Node>(reinterpret_cast<BoolExpr*>(conjunct)->args))
                add_equalities(query, part, found);
            continue;
        }
        if (!IsA(conjunct, OpExpr)) continue;
        const auto* const operation = reinterpret_cast<const OpExpr*>(conjunct);
        if (list_length(operation->args) != 2) continue;
        const auto [left, number] = key_column(query, static_cast<Node*>(linitial(operation->args)));
        const auto [right, of_right] = key_column(query, static_cast<Node*>(lsecond(operation->args)));
        if (left == 0 || right == 0 || number != of_right) continue;
        const PartitionKeyData* const key = key_of(rt_fetch(left, query->rtable)->relid);
        const int equal =
            key->strategy == PARTITION_STRATEGY_HASH ? int{HTEqualStrategyNumber} : int{BTEqualStrategyNumber};
        if (get_op_opfamily_strategy(operation->opno, key->partopfamily[number]) != equal ||
            (OidIsValid(key->partcollation[number]) && operation->inputcollid != key->partcollation[number]))
            continue;
        auto* const equality = allocate<KeyEquality>();
        *equality = {left, right, number};
        *found = lappend(*found, equality);
    }
}

// Says whether equalities of each of the key's columns lead from each of the tables to every other.
bool are_connected(const JoinedTables& joined) {
    for (int number = 0; number < joined.columns; number++) {
        List* reached = joined.entries ? list_make1_int(linitial_int(joined.entries)) : NIL;
        for (int before = -1; before != list_length(reached);) {
            before = list_length(reached);
            for (const KeyEquality* const equal : items<const KeyEquality>(joined.equalities)) {
                if (equal->number != number) continue;
                if (list_member_int(reached, equal->left)) reached = list_append_unique_int(reached, equal->right);
                if (list_member_int(reached, equal->right)) reached = list_append_unique_int(reached, equal->left);
            }
        }
        if (list_length(reached) != list_length(joined.entries)) return false;
    }
    return true;
}

void join(JoinedTables* joined, const JoinedTables& other) {
    joined->entries = list_concat(joined->entries, other.entries);
    joined->equalities = list_concat(joined->equalities, other.equalities);
    joined->columns = std::max(joined->columns, other.columns);
    joined->are_valid = joined->are_valid && other.are_valid;
}

JoinedTables joined_tables(const Query* query, Node* node);

// A row that an outer join keeps is in no pair that its condition asks for: what is equal in it must be so by itself,
// and a condition tells only of one side and the other.
JoinedTables outer_joined_tables(const Query* query, const JoinExpr* outer) {
    JoinedTables joined = joined_tables(query, outer->larg);
    const JoinedTables right = joined_tables(query, outer->rarg);
    List* between = NIL;
    add_equalities(query, outer->quals, &between);
    const bool are_valid = are_connected(joined) && are_connected(right);
    const List* const left_entries = list_copy(joined.entries);
    join(&joined, right);
    joined.are_valid = joined.are_valid && are_valid;
    for (KeyEquality* const equal : items<KeyEquality>(between))
        if (list_member_int(left_entries, equal->left) != list_member_int(left_entries, equal->right))
            joined.equalities = lappend(joined.equalities, equal);
    return joined;
}

JoinedTables joined_tables(const Query* query, Node* node) {
    JoinedTables joined{NIL, NIL, 0, true};
    if (IsA(node, RangeTblRef)) {
        const int number = reinterpret_cast<const RangeTblRef*>(node)->rtindex;
        const RangeTblEntry* const entry = rt_fetch(number, query->rtable);
        if (entry->rtekind != RTE_RELATION || entry->relkind != RELKIND_PARTITIONED_TABLE) return joined;
        joined.entries = list_make1_int(number);
        joined.columns = key_of(entry->relid)->partnatts;
    } else if (IsA(node, FromExpr)) {
        const auto* const from = reinterpret_cast<const FromExpr*>(node);
        for (Node* const item : items<Node>(from->fromlist)) join(&joined, joined_tables(query, item));
        add_equalities(query, from->quals, &joined.equalities);
    } else if (const auto* const expression = reinterpret_cast<const JoinExpr*>(node);
               expression->jointype != JOIN_INNER) {
        joined = outer_joined_tables(query, expression);
    } else {
        joined = joined_tables(query, expression->larg);
        join(&joined, joined_tables(query, expression->rarg));
        add_equalities(query, expression->quals, &joined.equalities);
    }
    return joined;
}

// The query among these that has partitioned tables itself.
bool find_level(Node* node, void* found) {
    if (!node) return false;
    if (!IsA(node, Query)) return btml_compat_walk(node, find_level, found);
    auto* const query = reinterpret_cast<Query*>(node);
    for (const RangeTblEntry* const entry : items<const RangeTblEntry>(query->rtable)) {
        if (entry->rtekind != RTE_RELATION || entry->relkind != RELKIND_PARTITIONED_TABLE) continue;
        *static_cast<const Query**>(found) = query;
        return true;
    }
    return btml_compat_walk_query(query, find_level, found, 0);
}

// The table's partitions in the order of their bounds, those that are partitioned themselves included.
std::vector<Oid> direct_partitions(Oid table) {
    const List* const all = pg_call([=] {
        const Relation relation = table_open(table, AccessShareLock);
        const PartitionDescData* const partitions = RelationGetPartitionDesc(relation, true);
        List* oids = NIL;
        for (int i = 0; i < partitions->nparts; i++) {
            LockRelationOid(partitions->oids[i], AccessShareLock);
            oids = lappend_oid(oids, partitions->oids[i]);
        }
        table_close(relation, NoLock);
        return oids;
    });
    std::vector<Oid> partitions;
    for (int i = 0; i < list_length(all); i++) partitions.push_back(list_nth_oid(all, i));
    return partitions;
}

// Says whether two tables have the same partition key and bounds, so that their partitions are pairs.
bool are_partitioned_alike(Oid a, Oid b) {
    if (a == b) return true;
    return pg_call([=] {
        const PartitionKeyData* const key = key_of(a);
        if (!have_same_key(key, key_of(b))) return false;
        const Relation first = table_open(a, AccessShareLock), second = table_open(b, AccessShareLock);
        const PartitionDescData* const x = RelationGetPartitionDesc(first, true);
        const PartitionDescData* const y = RelationGetPartitionDesc(second, true);
        const bool alike = x->nparts == y->nparts &&
                           (x->nparts == 0 || partition_bounds_equal(key->partnatts, key->parttyplen, key->parttypbyval,
                                                                     x->boundinfo, y->boundinfo));
        table_close(second, NoLock);
        table_close(first, NoLock);
        return alike;
    });
}

// Says whether the query, which reads so many partitioned tables, all of them alike, joins each with others by equality
// of all columns of the partition key, so that its rows are those that it has for pairs of partitions.
bool joins_by_partition(const Query* query, size_t tables) {
    return pg_call([=] {
        const Query* level = nullptr;
        find_level(as_node(const_cast<Query*>(query)), &level);
        if (!level) return false;
        const JoinedTables joined = joined_tables(level, as_node(level->jointree));
        return static_cast<size_t>(list_length(joined.entries)) == tables && joined.are_valid && are_connected(joined);
    });
}

bool check_permissions(Node* node, void* argument) {
    if (!node) return false;
    if (!IsA(node, Query)) return btml_compat_walk(node, check_permissions, argument);
    auto* const query = reinterpret_cast<Query*>(node);
    btml_compat_check_permissions(query);
    return btml_compat_walk_query(query, check_permissions, argument, 0);
}

struct Replacement {
    Oid table, partition, reader;
};

bool replace(Node* node, void* argument) {
    if (!node) return false;
    if (!IsA(node, Query)) return btml_compat_walk(node, replace, argument);
    auto* const query = reinterpret_cast<Query*>(node);
    const auto* const by = static_cast<const Replacement*>(argument);
    for (RangeTblEntry* const entry : items<RangeTblEntry>(query->rtable))
        if (entry->rtekind == RTE_RELATION && entry->relid == by->table)
            btml_compat_replace_table(query, entry, by->partition, RELKIND_FOREIGN_TABLE, by->reader);
    return btml_compat_walk_query(query, replace, argument, 0);
}

// Columns of a partition may lie at other places than those of its table.
bool has_same_places(Oid table, Oid partition) {
    return pg_call([=] {
        const Relation whole = table_open(table, NoLock), part = table_open(partition, NoLock);
        const TupleDesc a = RelationGetDescr(whole), b = RelationGetDescr(part);
        bool same = a->natts == b->natts;
        for (int i = 0; same && i < a->natts; i++) {
            const FormData_pg_attribute* const x = TupleDescAttr(a, i);
            const FormData_pg_attribute* const y = TupleDescAttr(b, i);
            same = x->attisdropped == y->attisdropped && x->atttypid == y->atttypid &&
                   (x->attisdropped || strcmp(NameStr(x->attname), NameStr(y->attname)) == 0);
        }
        table_close(part, NoLock);
        table_close(whole, NoLock);
        return same;
    });
}

// An aggregate is to be computed where the rows are, whatever PostgreSQL thinks that it costs.
bool ships_aggregates = false;
create_upper_paths_hook_type next_hook = nullptr;

List* foreign_paths(const RelOptInfo* of) {
    List* found = NIL;
    for (Path* const path : items<Path>(of->pathlist))
        if (IsA(path, ForeignPath)) found = lappend(found, path);
    return found;
}

// A path that seemed dearer than to fetch the rows is not among the others: it is asked for again, on its own.
void keep_shipped_paths(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output,
                        void* extra) {
    if (next_hook) next_hook(root, stage, input, output, extra);
    if (!ships_aggregates || stage != UPPERREL_GROUP_AGG) return;
    List* const all = output->pathlist;
    output->pathlist = foreign_paths(output);
    if (output->pathlist == NIL && output->fdwroutine && output->fdwroutine->GetForeignUpperPaths) {
        output->fdw_private = nullptr; // says that they were asked for
        output->fdwroutine->GetForeignUpperPaths(root, stage, input, output, extra);
    }
    if (output->pathlist == NIL) output->pathlist = all;
}

// Plans the query with its aggregates shipped, and joins under them; may ereport.
PlannedStmt* plan_shipped(Query* query, const char* sql, int cursor_options) {
    static bool hooked = false;
    if (!std::exchange(hooked, true)) {
        next_hook = create_upper_paths_hook;
        create_upper_paths_hook = keep_shipped_paths;
    }
    const int level = NewGUCNestLevel();
    for (const char* const method : {"enable_hashjoin", "enable_mergejoin", "enable_nestloop"})
        set_config_option(method, "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
    PlannedStmt* plan = nullptr;
    ships_aggregates = true;
    PG_TRY();
    { plan = pg_plan_query(query, sql, cursor_options, nullptr); }
    PG_FINALLY();
    { ships_aggregates = false; }
    PG_END_TRY();
    AtEOXact_GUC(true, level);
    return plan;
}

bool fetches_rows(const Plan* plan) {
    if (!plan) return false;
    if (IsA(plan, ForeignScan)) return true;
    if (IsA(plan, SubqueryScan)) return fetches_rows(reinterpret_cast<const SubqueryScan*>(plan)->subplan);
    return fetches_rows(plan->lefttree) || fetches_rows(plan->righttree);
}

PlannedStmt* plan_of(const Query* query) {
    return plan_as_ever(copy_of(query), "", 0);
}

// What runs before or beside the plan's tree, as a CTE does, is not shipped.
bool has_plan_that_fetches(const PlannedStmt* statement) {
    const Plan* const plan = statement->planTree;
    if (!IsA(plan, ForeignScan) && fetches_rows(plan)) return true;
    ListCell* cell;
    foreach (cell, statement->subplans)
        if (fetches_rows(static_cast<const Plan*>(lfirst(cell)))) return true;
    return false;
}

const char* name_of_table(Oid table) {
    return pg_call([=] { return get_rel_name(table); });
}

char kind_of(Oid table) {
    return pg_call([=] { return get_rel_relkind(table); });
}

// The table's partitions that have rows of their own, in an order that does not change.
std::vector<Oid> partitions_of(Oid table) {
    const List* const all = pg_call([=] { return find_all_inheritors(table, AccessShareLock, nullptr); });
    std::vector<Oid> partitions;
    ListCell* cell;
    foreach (cell, const_cast<List*>(all))
        if (kind_of(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE) partitions.push_back(lfirst_oid(cell));
    return partitions;
}

constexpr char distributable[] =
    "Servers train on a partitioned table whose partitions are foreign tables, on several that are partitioned alike "
    "and joined by their partition keys, or on tables that Citus distributes by the hash of a column.";

[[noreturn]] void refuse(const std::string& what, const char* hint = distributable) {
    throw Error(ErrorCode::not_supported, what, "", hint);
}

// Errors not_supported for other queries than those of one partitioned table, or of several joined by partition.
void check_tables(const Query* query, const ItemsOf<const ReadTable>& tables) {
    if (tables.size() == 0) refuse("the source reads no table");
    for (const ReadTable* const read : tables) {
        const char* const name = name_of_table(read->table);
        if (read->kind != RELKIND_PARTITIONED_TABLE)
            refuse(format("table \"%s\" is not partitioned over other servers", name));
        if (read->alone) refuse(format("ONLY \"%s\" has no rows of its partitions", name));
    }
    if (tables.size() == 1) return;
    for (const ReadTable* const read : tables) {
        if (!are_partitioned_alike(read->table, tables[0]->table))
            refuse(format("tables \"%s\" and \"%s\" are not partitioned alike", name_of_table(tables[0]->table),
                          name_of_table(read->table)));
        if (read->reader != tables[0]->reader) refuse("the tables are read with the rights of different roles");
    }
    if (!joins_by_partition(query, static_cast<size_t>(tables.size())))
        refuse("the partitioned tables are not joined by equality of their partition keys");
}

} // namespace

// Any table that everybody may name: a reader of a view need not have the right to name the tables under it. System
// columns have the same numbers everywhere.
static constexpr char stand_in[] = "pg_catalog.pg_class";

PartitionedQuery::PartitionedQuery(const std::string& output, const std::string& end, const PartitionedQuery& other,
                                   Oid table)
    : sql_("SELECT " + output + " FROM " + stand_in + " " + end),
      query_(parsed_query(sql_)),
      reader_(other.reader_),
      tables_{{RelationRelationId, other.partitions_of_table(table)}} {}

PartitionedQuery::PartitionedQuery(const std::string& sql, std::optional<int> addressed)
    : sql_(sql), query_(parsed_query(sql_)) {
    if (addressed) put_row_address(query_, *addressed);
    const ItemsOf<const ReadTable> tables = read_tables(query_);
    check_tables(query_, tables);
    pg_call([this] { check_permissions(as_node(query_), nullptr); });
    reader_ = tables[0]->reader;
    for (const ReadTable* const read : tables)
        tables_.push_back(
            {read->table, tables.size() == 1 ? partitions_of(read->table) : direct_partitions(read->table)});
    leave_out_pruned();
    check_partitions();
}

// Conditions may say that no row of a partition is read, whose server then is not asked.
void PartitionedQuery::leave_out_pruned() {
    const Query* const query = query_;
    const List* const planned = pg_call([=] { return plan_of(query)->relationOids; });
    const std::vector<Table> all = tables_;
    for (Table& read : tables_) read.partitions.clear();
    for (size_t partition = 0; partition < all[0].partitions.size(); partition++) {
        const bool is_read = std::any_of(all.begin(), all.end(), [&](const Table& read) {
            return list_member_oid(planned, read.partitions[partition]);
        });
        for (size_t t = 0; is_read && t < all.size(); t++)
            tables_[t].partitions.push_back(all[t].partitions[partition]);
    }
}

void PartitionedQuery::check_partitions() const {
    for (const Table& read : tables_)
        for (const Oid partition : read.partitions) {
            const char* const name = name_of_table(partition);
            if (kind_of(partition) != RELKIND_FOREIGN_TABLE)
                refuse(format("partition \"%s\" is not a foreign table", name));
            if (!has_same_places(read.table, partition))
                refuse(format("partition \"%s\" has its columns at other places than its table", name),
                       "Both need the same columns in the same order, dropped ones included.");
        }
}

const std::vector<Oid>& PartitionedQuery::partitions_of_table(Oid table) const {
    const auto found = std::find_if(tables_.begin(), tables_.end(), [=](const Table& of) { return of.table == table; });
    return (found == tables_.end() ? tables_.front() : *found).partitions;
}

std::string PartitionedQuery::name_of(size_t partition) const {
    return name_of_table(tables_[0].partitions[partition]);
}

static const ForeignServer* server_of_table(Oid table) {
    return GetForeignServer(GetForeignTable(table)->serverid);
}

std::string PartitionedQuery::server_of(size_t partition) const {
    const Oid table = tables_[0].partitions[partition];
    return pg_call([=] { return server_of_table(table)->servername; });
}

bool PartitionedQuery::ships_extension(size_t partition) const {
    const Oid table = tables_[0].partitions[partition];
    return pg_call([=] {
        for (DefElem* const option : items<DefElem>(server_of_table(table)->options)) {
            List* names = NIL;
            if (strcmp(option->defname, "extensions") != 0 ||
                !SplitIdentifierString(pstrdup(defGetString(option)), ',', &names))
                continue;
            for (const char* const name : items<const char>(names))
                if (strcmp(name, "btml") == 0) return true;
        }
        return false;
    });
}

Query* PartitionedQuery::query_of(size_t partition) const {
    const Query* const query = query_;
    Query* const copy = pg_call([=] { return copy_of(query); });
    for (const Table& read : tables_) {
        Replacement replacement{read.table, read.partitions[partition], reader_};
        Replacement* const by = &replacement;
        pg_call([=] { replace(as_node(copy), by); });
    }
    return copy;
}

bool PartitionedQuery::is_read_here(size_t partition) const {
    Query* const query = query_of(partition);
    return pg_call([=] { return has_plan_that_fetches(plan_shipped(query, "", 0)); });
}

uint64_t PartitionedQuery::run(size_t partition, RowSink& sink, const char* phase, RunContext& context) const {
    return run_query(query_of(partition), sql_.c_str(), sink, phase, context, plan_shipped);
}

ForeignTables foreign_tables(const Query* query) {
    ForeignTables found;
    for (const ReadTable* const read : read_tables(query)) {
        const bool has_partitions = read->kind == RELKIND_PARTITIONED_TABLE;
        for (const Oid table : has_partitions ? partitions_of(read->table) : std::vector<Oid>{read->table}) {
            if (kind_of(table) != RELKIND_FOREIGN_TABLE) continue;
            found.tables.insert(table);
            found.are_partitions = found.are_partitions || has_partitions;
            found.servers.insert(pg_call([=] { return server_of_table(table)->servername; }));
        }
    }
    return found;
}

double expected_rows(const Query* query) {
    return pg_call([=] { return plan_of(query)->planTree->plan_rows; });
}

} // namespace btml::pg
