#include "pg/planner/ordinary_plan.hpp"

#include "pg/planner/skew.hpp"
#include "pg/planner/watch.hpp"

extern "C" {
#include "catalog/pg_class_d.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
}

namespace btml::pg::planner {

namespace {

// Tells whether the path is one of PostgreSQL's own that make groups: aggregates, GROUP BY without any, DISTINCT.
bool makes_groups(const Path* path) {
    return IsA(path, AggPath) || IsA(path, GroupingSetsPath) || IsA(path, GroupPath) || IsA(path, UpperUniquePath);
}

// Returns a copy of a path that makes groups, before HAVING.
Path* copy_without_having(const Path* path) {
    const auto copied = [](const auto* of, auto* copy) {
        *copy = *of;
        return copy;
    };
    const auto without_having = [&](auto* copy) {
        copy->qual = NIL;
        return &copy->path;
    };
    if (IsA(path, UpperUniquePath)) return &copied(as<UpperUniquePath>(path), makeNode(UpperUniquePath))->path;
    if (IsA(path, GroupPath)) return without_having(copied(as<GroupPath>(path), makeNode(GroupPath)));
    if (IsA(path, GroupingSetsPath))
        return without_having(copied(as<GroupingSetsPath>(path), makeNode(GroupingSetsPath)));
    return without_having(copied(as<AggPath>(path), makeNode(AggPath)));
}

// What a foreign scan opens may belong to a subtransaction, so that its plan is not to be begun twice.
bool has_foreign_tables(const PlannerInfo* root) {
    for (int relid = 1; relid < root->simple_rel_array_size; relid++)
        if (const RangeTblEntry* const entry = root->simple_rte_array[relid];
            entry && entry->rtekind == RTE_RELATION && entry->relkind == RELKIND_FOREIGN_TABLE)
            return true;
    return false;
}

} // namespace

const Path* cheapest_grouping(const RelOptInfo* grouped, double tuple_fraction) {
    Path* best = nullptr;
    for (Path* const path : items<Path>(grouped->pathlist)) {
        if (!makes_groups(path) || path->param_info) continue;
        const double fraction = tuple_fraction >= 1 ? tuple_fraction / path->rows : tuple_fraction;
        if (!best || compare_fractional_path_costs(path, best, fraction) < 0) best = path;
    }
    return best;
}

Path* ordinary_path(PlannerInfo* root, const Path* best, const List* scan_targets) {
    PathTarget* const target = create_empty_pathtarget();
    for (const TargetEntry* const entry : items<const TargetEntry>(scan_targets))
        add_column_to_pathtarget(target, copy_of(entry->expr), 0);
    return reinterpret_cast<Path*>(create_projection_path(root, best->parent, copy_without_having(best), target));
}

void drop_groupings(RelOptInfo* grouped) {
    List* others = NIL;
    for (Path* const path : items<Path>(grouped->pathlist))
        if (!makes_groups(path)) others = lappend(others, path);
    grouped->pathlist = others;
}

double ordinary_cost(const JoinShape& join, const Path* best) {
    return join.root->tuple_fraction > 0 ? best->total_cost : skewed_cost(join.excluded_by(0), best);
}

double max_rows_of(const PlannerInfo* root, const Path* ordinary, double our_cost) {
    constexpr double min_rows = 100, tuples_a_row = 3; // the processor's cost of a row that a plan finds
    return can_be_given_up(ordinary) && !has_foreign_tables(root)
               ? std::max(min_rows, our_cost / (tuples_a_row * cpu_tuple_cost))
               : 0;
}

} // namespace btml::pg::planner
