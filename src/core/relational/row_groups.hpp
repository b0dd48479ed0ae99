// Rows that the rest of a join cannot tell apart: equal keys to every neighbour in the join tree.
#pragma once

#include "core/relational/join.hpp"

namespace btml::relational {

// The rows of one table by group: those of group g are rows[first[g]] … rows[first[g + 1] − 1], ascending. Groups are
// numbered in the order of their first rows.
struct RowGroups {
    Buffer<RowId> rows;
    Buffer<RowId> first; // one more than there are groups

    uint64_t count() const { return first.size() - 1; }
    uint64_t size(uint64_t group) const { return first[group + 1] - first[group]; }
};

RowGroups group_rows(const Join& join, int table, RunContext& context);

// The join whose tables have one row for each group: same table numbers, no data columns.
Join join_of_groups(const Join& join, const std::vector<const RowGroups*>& groups, RunContext& context);

} // namespace btml::relational
