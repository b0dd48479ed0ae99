// Runs an ordinary plan until it has found too many rows.
#pragma once

#include "pg/bridge/postgres.hpp"

namespace btml::pg::planner {

// Tells whether this plan, which makes groups of a join, can be given up: all rows of its join are read before it gives
// one, in this process, and there are only inner and semi-joins. Ending a node early then creates no row that the join
// does not have.
bool can_be_given_up(const Path* grouping);

// Asks such a plan for its first row. Returns false where it was given up, since its nodes found
// more than max_rows rows, with those that their conditions leave out: it has then given no row that counts, and is to
// be ended. memory: of what is known of the nodes, until the next call. May raise PostgreSQL errors.
bool first_row_within(PlanState* plan, double max_rows, MemoryContext memory, TupleTableSlot** row);

} // namespace btml::pg::planner
