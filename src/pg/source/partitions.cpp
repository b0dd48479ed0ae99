#include "pg/source/partitions.hpp"

#include "pg/bridge/nodes.hpp"
#include "pg/source/analysis.hpp"
#include "pg/source/partition_join.hpp"
#include "pg/source/read_tables.hpp"

extern "C" {
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "tcop/tcopprot.h"
#include "utils/rel.h"
#include "utils/varlena.h"
}

namespace btml::pg {

namespace {

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

PartitionedQuery::PartitionedQuery(const std::string& output, const std::string& end, const PartitionedQuery& other)
    : sql_("SELECT " + output + " FROM " + stand_in + " " + end),
      query_(parsed_query(sql_)),
      reader_(other.reader_),
      tables_{{RelationRelationId, other.tables_[0].partitions}} {}

PartitionedQuery::PartitionedQuery(const std::string& sql) : sql_(sql), query_(parsed_query(sql_)) {
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
