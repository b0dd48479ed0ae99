#include "pg/bridge/partitions.hpp"

#include "pg/bridge/analysis.hpp"
#include "pg/bridge/nodes.hpp"

extern "C" {
#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"
#include "utils/rel.h"
}

namespace btml::pg {

namespace {

struct Found {
    Oid table = InvalidOid, reader = InvalidOid;
    bool several = false;
};

bool find_partitioned(Node* node, void* argument) {
    if (!node) return false;
    if (!IsA(node, Query)) return btml_compat_walk(node, find_partitioned, argument);
    auto* const query = reinterpret_cast<Query*>(node);
    auto* const found = static_cast<Found*>(argument);
    for (RangeTblEntry* const entry : items<RangeTblEntry>(query->rtable)) {
        // A view that was expanded leaves an entry that nothing reads.
        if (entry->rtekind != RTE_RELATION || entry->relkind == RELKIND_VIEW) continue;
        found->several = found->several || found->table != InvalidOid || entry->relkind != RELKIND_PARTITIONED_TABLE;
        found->table = entry->relid;
        found->reader = btml_compat_reader(query, entry);
    }
    return btml_compat_walk_query(query, find_partitioned, argument, 0);
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
bool has_same_places(Relation table, Relation partition) {
    const TupleDesc a = RelationGetDescr(table), b = RelationGetDescr(partition);
    if (a->natts != b->natts) return false;
    for (int i = 0; i < a->natts; i++) {
        const FormData_pg_attribute* const x = TupleDescAttr(a, i);
        const FormData_pg_attribute* const y = TupleDescAttr(b, i);
        if (x->attisdropped != y->attisdropped || x->atttypid != y->atttypid) return false;
        if (!x->attisdropped && strcmp(NameStr(x->attname), NameStr(y->attname)) != 0) return false;
    }
    return true;
}

// An aggregate is to be computed where the rows are, whatever PostgreSQL thinks that it costs.
bool ships_aggregates = false;
create_upper_paths_hook_type next_hook = nullptr;

void keep_shipped_paths(PlannerInfo* root, UpperRelationKind stage, RelOptInfo* input, RelOptInfo* output,
                        void* extra) {
    if (next_hook) next_hook(root, stage, input, output, extra);
    if (!ships_aggregates || stage != UPPERREL_GROUP_AGG) return;
    List* shipped = NIL;
    for (Path* const path : items<Path>(output->pathlist))
        if (IsA(path, ForeignPath)) shipped = lappend(shipped, path);
    if (shipped != NIL) output->pathlist = shipped;
}

void ship_aggregates(bool ship) {
    static bool hooked = false;
    if (!std::exchange(hooked, true)) {
        next_hook = create_upper_paths_hook;
        create_upper_paths_hook = keep_shipped_paths;
    }
    ships_aggregates = ship;
}

enum class Problem { none, no_foreign_table, other_places };

} // namespace

PartitionedQuery::PartitionedQuery(const std::string& sql, const PartitionedQuery* other) : sql_(sql) {
    const char* const text = sql_.c_str();
    query_ = pg_call([=] { return parsed_query(text); });
    const Found found = pg_call([this] {
        Found result;
        find_partitioned(as_node(query_), &result);
        return result;
    });
    if (found.table == InvalidOid || found.several)
        throw Error(ErrorCode::not_supported, "the source does not read one partitioned table and nothing else", "",
                    "strategy => 'distributed' trains over a partitioned table whose partitions are foreign tables.");
    if (other) {
        table_ = other->table_;
        reader_ = other->reader_;
        partitions_ = other->partitions_;
        return;
    }
    pg_call([this] { check_permissions(as_node(query_), nullptr); });
    table_ = found.table;
    reader_ = found.reader;
    const Oid table = table_;
    const List* const all = pg_call([=] { return find_all_inheritors(table, AccessShareLock, nullptr); });
    ListCell* cell;
    foreach (cell, const_cast<List*>(all)) {
        const Oid partition = lfirst_oid(cell);
        const Problem problem = pg_call([=] {
            const Relation parent = table_open(table, NoLock), relation = table_open(partition, NoLock);
            const char kind = relation->rd_rel->relkind;
            const bool same = has_same_places(parent, relation);
            table_close(relation, NoLock);
            table_close(parent, NoLock);
            if (kind == RELKIND_PARTITIONED_TABLE) return Problem::none;
            return kind != RELKIND_FOREIGN_TABLE ? Problem::no_foreign_table
                   : same                        ? Problem::none
                                                 : Problem::other_places;
        });
        if (problem == Problem::no_foreign_table)
            throw Error(
                ErrorCode::not_supported,
                format("partition \"%s\" is not a foreign table", pg_call([=] { return get_rel_name(partition); })), "",
                "strategy => 'distributed' trains over a partitioned table whose partitions are foreign tables.");
        if (problem == Problem::other_places)
            throw Error(ErrorCode::not_supported,
                        format("partition \"%s\" has its columns at other places than its table",
                               pg_call([=] { return get_rel_name(partition); })),
                        "", "Both need the same columns in the same order, dropped ones included.");
        if (pg_call([=] { return get_rel_relkind(partition); }) == RELKIND_FOREIGN_TABLE)
            partitions_.push_back(partition);
    }
}

std::string PartitionedQuery::name_of(size_t partition) const {
    const Oid table = partitions_[partition];
    return pg_call([=] { return get_rel_name(table); });
}

uint64_t PartitionedQuery::run(size_t partition, RowSink& sink, const char* phase, RunContext& context) const {
    const Query* const query = query_;
    Replacement replacement{table_, partitions_[partition], reader_};
    Replacement* const by = &replacement;
    const Query* const of_partition = pg_call([=] {
        Query* const copy = copy_of(query);
        replace(as_node(copy), by);
        return copy;
    });
    ship_aggregates(true);
    try {
        const uint64_t rows = run_query(of_partition, sql_.c_str(), sink, phase, context);
        ship_aggregates(false);
        return rows;
    } catch (...) {
        ship_aggregates(false);
        throw;
    }
}

} // namespace btml::pg
