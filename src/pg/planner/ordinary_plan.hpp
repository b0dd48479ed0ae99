// PostgreSQL's own plan of a query's groups, beside which a factorized one competes.
#pragma once

#include "pg/planner/shape.hpp"

namespace btml::pg::planner {

// Returns the cheapest of the paths that make groups: aggregates, GROUP BY without any, DISTINCT; null for none.
// tuple_fraction: as in PlannerInfo, rows that will be asked for from 1 on, below a part of them; 0: all.
const Path* cheapest_grouping(const RelOptInfo* grouped, double tuple_fraction);

// Returns the path that is fallen back to, which gives what our node would: grouping columns and aggregates, before
// HAVING. It is a copy of its own, since the planner frees paths that are dominated and gives those that are not other
// targets. Its projection is a node only above Unique, which gives its input's columns.
Path* ordinary_path(PlannerInfo* root, const Path* best, const List* scan_targets);

// Drops PostgreSQL's own plans, whose costs are too low where keys are skewed.
void drop_groupings(RelOptInfo* grouped);

// Returns what the ordinary plan costs. Where a part of its rows is wanted that is PostgreSQL's own estimate, since a
// sorted plan may give them early.
double ordinary_cost(const JoinShape& join, const Path* best);

// Returns how many rows the ordinary plan may find in about the time that ours takes; 0 where it cannot be given up.
double max_rows_of(const PlannerInfo* root, const Path* ordinary, double our_cost);

} // namespace btml::pg::planner
