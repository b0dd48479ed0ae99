// What an ordinary plan costs where keys are skewed. PostgreSQL multiplies selectivities of pairs of tables, which errs
// by orders of magnitude where the same values are common in several.
#pragma once

#include "pg/planner/shape.hpp"

namespace btml::pg::planner {

// Returns what the plan of the join costs where each of its joins has as many rows as the most common values of its
// keys say, which ANALYZE found. It is never less than PostgreSQL's own estimate.
double skewed_cost(const JoinShape& join, const Path* path);

} // namespace btml::pg::planner
