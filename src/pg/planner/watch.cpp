#include "pg/planner/watch.hpp"

#include "pg/bridge/nodes.hpp"

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
    double left_out;   // of rows, until now
};

// Counts the rows that the nodes of a plan find.
struct Watch {
    Watch* around;  // that of a plan in which this one stands
    Watched* nodes; // by plan_node_id
    double rows, max_rows;

    Watched& at(const PlanState* node) const { return nodes[node->plan->plan_node_id]; }
};

Watch* watch = nullptr;

double left_out(const PlanState* node) {
    return node->instrument->nfiltered1 + node->instrument->nfiltered2;
}

TupleTableSlot* watched(PlanState* node) {
    if (watch->rows > watch->max_rows) return nullptr;
    Watched& known = watch->at(node);
    TupleTableSlot* const row = known.original(node);
    const double until_now = left_out(node);
    watch->rows += 1 + until_now - known.left_out;
    known.left_out = until_now;
    return row;
}

// Calls body(node) with each scan and join of the plan. Sub-queries and what partitions are appended by are scans.
template <class Body>
void for_each_source(PlanState* node, const Body& body) {
    if (!node) return;
    switch (nodeTag(node)) {
    case T_NestLoopState:
    case T_MergeJoinState:
    case T_HashJoinState:
        body(node);
        [[fallthrough]];
    case T_AggState:
    case T_HashState:
    case T_IncrementalSortState:
    case T_MaterialState:
    case T_MemoizeState:
    case T_SortState:
    case T_UniqueState:
        for_each_source(outerPlanState(node), body);
        for_each_source(innerPlanState(node), body);
        break;
    default:
        body(node);
    }
}

bool can_stop(const Path* path) {
    switch (nodeTag(path)) {
    case T_NestPath:
    case T_MergePath:
    case T_HashPath: {
        const auto* const join = as<JoinPath>(path);
        const bool makes_no_rows = join->jointype == JOIN_INNER || join->jointype == JOIN_SEMI ||
                                   join->jointype == JOIN_UNIQUE_OUTER || join->jointype == JOIN_UNIQUE_INNER;
        return makes_no_rows && can_stop(join->outerjoinpath) && can_stop(join->innerjoinpath);
    }
    case T_SortPath:
    case T_IncrementalSortPath:
        return can_stop(as<SortPath>(path)->subpath);
    case T_MaterialPath:
        return can_stop(as<MaterialPath>(path)->subpath);
    case T_MemoizePath:
        return can_stop(as<MemoizePath>(path)->subpath);
    case T_ProjectionPath:
        return can_stop(as<ProjectionPath>(path)->subpath);
    case T_UniquePath:
        return can_stop(as<UniquePath>(path)->subpath);
    default:
        return path->parent->reloptkind == RELOPT_BASEREL && !IsA(path, GatherPath) && !IsA(path, GatherMergePath);
    }
}

} // namespace

bool can_be_given_up(const AggPath* aggregate) {
    const bool reads_first = aggregate->aggstrategy == AGG_PLAIN || aggregate->aggstrategy == AGG_HASHED ||
                             IsA(aggregate->subpath, SortPath);
    return aggregate->aggsplit == AGGSPLIT_SIMPLE && reads_first && can_stop(aggregate->subpath);
}

bool first_row_within(PlanState* plan, double max_rows, TupleTableSlot** row) {
    int nodes = 0;
    for_each_source(plan, [&](const PlanState* node) { nodes = std::max(nodes, node->plan->plan_node_id + 1); });
    auto* const own = allocate<Watch>();
    *own = {watch, static_cast<Watched*>(palloc0(sizeof(Watched) * nodes)), 0, max_rows};
    for_each_source(plan, [&](PlanState* node) {
        const bool counts = node->instrument != nullptr;
        if (!counts) node->instrument = InstrAlloc(1, INSTRUMENT_ROWS, false);
        own->at(node) = {node->ExecProcNodeReal, !counts, left_out(node)};
        ExecSetExecProcNode(node, watched);
    });
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
    return own->rows <= own->max_rows;
}

} // namespace btml::pg::planner
