// Adding and removing rows of a table's columns.
#pragma once

#include "core/relational/row_blocks.hpp"
#include "core/relational/table.hpp"

namespace btml::relational {

// Error internal unless every column has as many values as the table has rows; limit_exceeded beyond max_rows.
void check_shape(const Table& table);

// Error internal when the table lacks the attribute.
const Buffer<Key>& key_column(const Table& table, int attribute);

// One more row: null_key in every key column, the null row's value in every data column. Error limit_exceeded where
// max_rows leaves no room for it.
void append_null_row(Table& table);

// Which rows of a table stay: one byte for each, 1 or 0.
using RowMask = Buffer<uint8_t>;

uint64_t count_kept(const RowMask& mask);

// The rows that stay, in their order; the memory of the others is given back.
template <class T>
void keep_rows(Buffer<T>& values, const RowMask& mask, uint64_t kept, RowBlocks& blocks) {
    uint64_t next = 0;
    blocks.run(mask.size(), [&](uint64_t begin, uint64_t end) {
        T* const value = values.data();
        uint64_t to = next;
        for (uint64_t row = begin; row < end; row++) {
            value[to] = value[row];
            to += mask[row];
        }
        next = to;
    });
    values.resize(kept);
    values.shrink_to_fit();
}

void keep_rows(Table& table, const RowMask& mask, uint64_t kept, RowBlocks& blocks);

} // namespace btml::relational
