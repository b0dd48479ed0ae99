// The rights that PostgreSQL asks for when it begins a plan.
#pragma once

#include "pg/bridge/postgres.hpp"

namespace btml::pg::planner {

// Raises the errors that beginning the plan, of joins and aggregates over scans, with these flags of the executor would
// raise for rights on functions that the user or the owner of an aggregate lacks. Scans of whole sub-queries, which
// have been begun, are left out.
void check_rights(const Plan* plan, int flags);

} // namespace btml::pg::planner
