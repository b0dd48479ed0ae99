// The extrema of columns, as doubles that are on the safe side of them.
#pragma once

#include "core/relational/streamed/aggregate.hpp"

namespace btml::relational {

// Widens the range by some rows of a column, NULLs left out.
void widen(StreamedRange& range, StreamedType type, const RowBatch::Column& column, const uint32_t* rows,
           uint32_t count);

void widen(StreamedRange& range, const StreamedRange& other);

} // namespace btml::relational
