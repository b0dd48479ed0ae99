// The rows of a join as tuples of row ids, no column copied.
#pragma once

#include "core/relational/join/join.hpp"

namespace btml::relational {

struct JoinRows {
    uint64_t rows = 0;
    // Has, per table, the row of the table in each row of the join. Empty for the one table, if any, whose rows are the
    // join's rows one for one and in order (the fact table of a key-foreign-key join).
    std::vector<Buffer<RowId>> row_ids;
};

// Bytes that enumerate() would hold: 4 for each join row and table, but for a table whose rows are those of the join.
uint64_t enumeration_bytes(const Join& join, RunContext& context);

// The rows in the order of a table whose rows are those of the join, or else of the largest table. Error memory_limit,
// with both numbers, before any work when it would not fit; limit_exceeded beyond max_rows join rows.
JoinRows enumerate(const Join& join, RunContext& context);

} // namespace btml::relational
