// The rows of a join as tuples of row ids, no column copied.
#pragma once

#include "core/relational/join/join.hpp"

namespace btml::relational {

struct JoinRows {
    uint64_t rows = 0;
    // Has, per table, the row of the table in each row of the join. Empty for the one table, if any, whose rows are the
    // join's rows one for one and in order (the fact table of a key-foreign-key join).
    std::vector<Buffer<RowId>> row_ids;
    int identity_table = -1;
};

// Bytes that enumerate() would hold: 4 for each join row and table, the identity table excepted.
uint64_t enumeration_bytes(const Join& join, RunContext& context);

// The rows in the order of the identity table, or else of the largest table. Error memory_limit, with both numbers,
// before any work when it would not fit; limit_exceeded beyond max_rows join rows.
JoinRows enumerate(const Join& join, RunContext& context);

} // namespace btml::relational
