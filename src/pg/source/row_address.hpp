// Addresses of rows: the ctid of a row that a query's output comes from, through the sub-queries in between.
#pragma once

#include "pg/bridge/nodes.hpp"

namespace btml::pg {

// Puts, in a query over one sub-query, for each NULL::tid that is an argument of a function in its outputs, the address
// of the row that the sub-query's output `column` comes from. Where an outer join has no such row it stays NULL.
// Returns the row's table; InvalidOid, with nothing put, where the output does not come from one table alone.
Oid put_row_address(Query* query, int column);

} // namespace btml::pg
