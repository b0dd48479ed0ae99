// A join whose tables' rows are put in the order of their keys, so that those with equal keys, a group, stand together:
// message passing then costs a step for each group and not for each row.
#pragma once

#include "core/relational/join/join.hpp"

#include <span>

namespace btml::relational {

// The rows of one table by their keys on all separators.
struct GroupedTable {
    // Says what a table shares with one neighbour in the join tree.
    struct Edge {
        size_t neighbour;
        size_t reverse;       // the same edge's place among the neighbour's edges
        uint64_t keys;        // every key occurs
        Buffer<Key> key;      // by group
        Buffer<RowId> first;  // by key, and one more: where its groups begin
        Buffer<RowId> groups; // groups by key, ascending; empty where they are so by themselves

        RowId group(uint64_t i) const { return groups.empty() ? static_cast<RowId>(i) : groups[i]; }
    };

    // Larger groups are cut, so that threads share them and nobody waits for one.
    static constexpr uint64_t max_group_rows = 4096;

    uint64_t rows = 0;
    Buffer<RowId> order; // the join's row for each row here; empty: the same
    Buffer<RowId> first; // by group, and one more: where its rows begin
    std::vector<Edge> edges;
    Buffer<uint64_t> content; // of each row; empty where the join's table has none

    uint64_t groups() const { return first.size() - 1; }
};

class GroupedJoin {
  public:
    // A copy of the join's keys; the join's columns stay where they are, in the join's order.
    GroupedJoin(const Join& join, RunContext& context);

    // Leaves out the other rows of a table; of each group, one is kept at least. `kept` ascends.
    void keep_rows(size_t table, const Buffer<RowId>& kept, RunContext& context);

    const std::vector<GroupedTable>& tables() const { return tables_; }
    size_t relations() const { return relations_; }             // the tables before the bags of a cyclic join
    const std::vector<size_t>& order() const { return order_; } // tables, parents before children
    // A table's edges away from the root; of its edges, the first one leads to the parent, but for the root.
    std::span<const GroupedTable::Edge> children(size_t table) const {
        return std::span(tables_[table].edges).subspan(table == order_[0] ? 0 : 1);
    }

  private:
    std::vector<GroupedTable> tables_;
    size_t relations_;
    std::vector<size_t> order_;
};

// Puts a column into the order of a grouped table.
template <class T>
void reorder(Buffer<T>& column, const Buffer<RowId>& order, RunContext& context) {
    if (order.empty()) return;
    Buffer<T> sorted(column.budget(), "columns in the order of keys", column.size());
    context.for_each(order.size(), 1, [&](uint64_t i) { sorted[i] = column[order[i]]; });
    column = std::move(sorted);
}

} // namespace btml::relational
