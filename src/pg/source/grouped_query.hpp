// Queries of base relations that are read as groups of rows: one row for each combination of some columns, with totals.
// All of it may ereport.
#pragma once

#include "pg/bridge/postgres.hpp"

namespace btml::pg {

// btml.sumprod_agg over factors, expressions that are numbers, or over their absolute values.
Node* sumprod_of_groups(const char* semiring, List* factors, bool absolute);

// Groups the query by those columns of its output that are no aggregates.
void group_by_columns(Query* query);

} // namespace btml::pg
