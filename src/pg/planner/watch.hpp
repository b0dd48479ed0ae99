// Runs an ordinary plan for as long as it is short.
#pragma once

#include "pg/bridge/postgres.hpp"

namespace btml::pg::planner {

// Tells whether the plan below an aggregate of this path can be given up: only inner and semi-joins, in this process,
// all of whose rows are read before the first one is given. Then a node that says too early that it has no more rows
// brings no row about that is none of the join.
bool can_be_given_up(const AggPath* aggregate);

// Asks the plan, of such a path, for its first row. Returns false where its scans and joins found more than max_rows
// rows, with those that their conditions leave out: the plan has then given no row that counts, and is to be ended. May
// raise PostgreSQL errors.
bool first_row_within(PlanState* plan, double max_rows, TupleTableSlot** row);

} // namespace btml::pg::planner
