// The extrema of columns, as doubles that are on the safe side of them.
#pragma once

#include "core/relational/streamed/row_batch.hpp"

namespace btml::relational {

// The range of a column over the rows that found partners in the tables before, NULLs left out. Absolute values;
// numbers and integers as doubles, rounded away from what would be safe: max_abs up, min_abs (of those that are not 0)
// down.
struct StreamedRange {
    double max_abs = 0;
    double min_abs = 0; // 0: no value but 0
    bool finite = true; // neither NaN nor an infinity
};

// What became of one table, for people and for bounds.
struct StreamedReport {
    uint64_t rows_read = 0, rows_kept = 0, keys = 0, bytes = 0; // keys, bytes: of its message
    std::vector<StreamedRange> ranges;                          // of its measured columns
};

// Widens the range by some rows of a column, NULLs left out.
void widen(StreamedRange& range, StreamedType type, const RowBatch::Column& column, const uint32_t* rows,
           uint32_t count);

void widen(StreamedRange& range, const StreamedRange& other);

} // namespace btml::relational
