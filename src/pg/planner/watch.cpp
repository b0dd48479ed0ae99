#include "pg/planner/watch.hpp"

#include "pg/planner/shape.hpp"

extern "C" {
#include "executor/executor.h"
#include "executor/instrument.h"
}

namespace btml::pg::planner {

namespace {

// What is known of a node while it is watched.
struct Watched {
    ExecProcNodeMtd original;
    bool is_own_count; // whether the node counts for the watch alone what its conditions leave out
    double left_out;   // rows, until now
};

// Counts the rows that the nodes of a plan find.
struct Watch {
    Watch* around;  // that of a plan in which this one stands
    Watched* nodes; // by plan_node_id
    double rows, max_rows;
    bool has_cut; // whether a node said that it has no more rows

    Watched& at(const PlanState* node) const { return nodes[node->plan->plan_node_id]; }
};

Watch* watch = nullptr;

double left_out(const PlanState* node) {
    return node->instrument->nfiltered1 + node->instrument->nfiltered2;
}

TupleTableSlot* watched(PlanState* node) {
    if (watch->rows > watch->max_rows) {
        watch->has_cut = true;
        return nullptr;
    }
    Watched& known = watch->at(node);
    TupleTableSlot* const row = known.original(node);
    const double until_now = left_out(node);
    watch->rows += 1 + until_now - known.left_out;
    known.left_out = until_now;
    return row;
}

// Calls body(node) with what gives rows below an aggregate: scans, joins, and nodes that keep rows.
template <class Body>
void for_each_source(PlanState* node, const Body& body) {
    if (!node) return;
    switch (nodeTag(node)) {
    case T_NestLoopState:
    case T_MergeJoinState:
    case T_HashJoinState:
    case T_IncrementalSortState:
    case T_MaterialState:
    case T_MemoizeState:
    case T_ResultState:
    case T_SortState:
        body(node);
        [[fallthrough]];
    case T_AggState:
    case T_GroupState:
    case T_HashState:
    case T_UniqueState:
        for_each_source(outerPlanState(node), body);
        for_each_source(innerPlanState(node), body);
        break;
    default:
        body(node);
    }
}

bool makes_no_rows(JoinType type) {
    return type == JOIN_INNER || type == JOIN_SEMI || type == JOIN_UNIQUE_OUTER || type == JOIN_UNIQUE_INNER;
}

// A sub-query's own plan may stand in the place of its scan, so it is none.
bool can_stop(const Path* path) {
    if (IsA(path, NestPath) || IsA(path, MergePath) || IsA(path, HashPath)) {
        const auto* const join = as<JoinPath>(path);
        return makes_no_rows(join->jointype) && can_stop(join->outerjoinpath) && can_stop(join->innerjoinpath);
    }
    if (IsA(path, GatherPath) || IsA(path, GatherMergePath) || IsA(path, AggPath)) return false;
    if (const Path* const input = below(path)) return can_stop(input);
    return path->parent->reloptkind == RELOPT_BASEREL && path->parent->rtekind != RTE_SUBQUERY;
}

} // namespace

bool can_be_given_up(const Path* grouping) {
    const Path* const input = below(grouping);
    bool reads_first = IsA(input, SortPath);
    if (IsA(grouping, AggPath)) {
        const auto* const aggregate = as<AggPath>(grouping);
        if (aggregate->aggsplit != AGGSPLIT_SIMPLE) return false;
        reads_first = reads_first || aggregate->aggstrategy == AGG_PLAIN || aggregate->aggstrategy == AGG_HASHED;
    }
    if (IsA(grouping, GroupingSetsPath))
        reads_first = reads_first || as<GroupingSetsPath>(grouping)->aggstrategy == AGG_HASHED;
    return reads_first && can_stop(input);
}

// Makes a watch of the plan's nodes in this memory.
static Watch* begin_watch(PlanState* plan, double max_rows, MemoryContext memory) {
    int nodes = 0;
    for_each_source(plan, [&](const PlanState* node) { nodes = std::max(nodes, node->plan->plan_node_id + 1); });
    const MemoryContext before = MemoryContextSwitchTo(memory);
    auto* const own = allocate<Watch>();
    *own = {watch, static_cast<Watched*>(palloc0(sizeof(Watched) * nodes)), 0, max_rows, false};
    for_each_source(plan, [&](PlanState* node) {
        const bool counts = node->instrument != nullptr;
        if (!counts) node->instrument = InstrAlloc(1, INSTRUMENT_ROWS, false);
        own->at(node) = {node->ExecProcNodeReal, !counts, left_out(node)};
        ExecSetExecProcNode(node, watched);
    });
    MemoryContextSwitchTo(before);
    return own;
}

bool first_row_within(PlanState* plan, double max_rows, MemoryContext memory, TupleTableSlot** row) {
    Watch* const own = begin_watch(plan, max_rows, memory);
    watch = own;
    PG_TRY();
    { *row = ExecProcNode(plan); }
    PG_FINALLY();
    { watch = own->around; }
    PG_END_TRY();
    for_each_source(plan, [&](PlanState* node) {
        if (own->at(node).is_own_count) node->instrument = nullptr;
        ExecSetExecProcNode(node, own->at(node).original);
    });
    return !own->has_cut;
}

} // namespace btml::pg::planner
