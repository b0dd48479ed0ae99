// A table's projection to some join attributes as a sorted set of tuples: what a worst-case-optimal join reads as a
// trie, level by level.
#pragma once

#include "core/relational/table_rows.hpp"

namespace btml::relational {

struct SortedRelation {
    std::vector<int> attributes;      // in the order of the columns
    std::vector<Buffer<Key>> columns; // distinct tuples, lexicographically ascending
    uint64_t rows = 0;
};

// The key columns of a table, in this order of attributes; the rows that the mask leaves out or that are NULL in one of
// them do not count. Error internal for an attribute that the table lacks.
SortedRelation project(const Table& table, const RowMask& mask, std::vector<int> attributes, MemoryBudget& memory,
                       RowBlocks& blocks);

} // namespace btml::relational
