// Rows ordered and grouped by keys of theirs.
#pragma once

#include "core/relational/join/join.hpp"

namespace btml::relational {

// Sorts rows by these columns, the first one first; rows that agree in all of them keep their order. `what` is a string
// literal that names the memory.
void sort_rows(Buffer<RowId>& rows, const KeyColumns& columns, const char* what, RunContext& context);

// The rows of one table by group: those of group g are rows[first[g]] … rows[first[g + 1] − 1], ascending.
struct RowGroups {
    Buffer<RowId> rows;
    Buffer<RowId> first; // one more than there are groups

    uint64_t count() const { return first.size() - 1; }
    uint64_t size(uint64_t group) const { return first[group + 1] - first[group]; }
};

// The rows with key κ are group κ, for 0 ≤ κ < count.
RowGroups group_rows(const Buffer<Key>& keys, uint64_t count, const char* what, RunContext& context);

// Groups the rows that the rest of a join cannot tell apart: they have equal keys to every neighbour in the join tree.
// Groups are numbered in the order of their first rows.
RowGroups group_rows(const Join& join, int table, RunContext& context);

// The join whose tables have one row for each group: same table numbers, no data columns.
Join join_of_groups(const Join& join, const std::vector<const RowGroups*>& groups, RunContext& context);

} // namespace btml::relational
