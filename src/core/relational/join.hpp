// A natural join of tables with its join tree, reduced: every row that is left takes part in at least one row of the
// join. The join itself is never written out.
#pragma once

#include "core/relational/join_tree.hpp"
#include "core/relational/table.hpp"

#include <functional>

namespace btml::relational {

// The separator of a table and its parent in the join tree, its combinations of attribute values numbered densely:
// row c of the child joins row p of the parent exactly if child_keys[c] == parent_keys[p]. After reduction every
// number 0 ≤ κ < keys occurs on both sides. Empty buffers for the root.
struct Separator {
    uint64_t keys = 0;
    Buffer<Key> child_keys, parent_keys;
};

class Join {
  public:
    // Turns left joins into plain ones (each right table gets one more row, which the unmatched left rows join; outer
    // left joins before those nested in them), builds the join tree, numbers the separators and removes dangling rows
    // from every table. Error not_supported naming the tables of a cycle when the join is cyclic.
    Join(std::vector<Table> tables, std::vector<LeftJoin> left_joins, RunContext& context);

    const std::vector<Table>& tables() const { return tables_; }
    std::vector<Table>& tables() { return tables_; }
    const JoinTree& tree() const { return tree_; }
    const Separator& separator(int table) const { return separators_[static_cast<size_t>(table)]; }
    // Rows a table had when it was handed over, its null row for a left join not counted.
    uint64_t rows_read(int table) const { return rows_read_[static_cast<size_t>(table)]; }

    // Keeps the rows of one table for which keep(row) is true, then reduces all tables again.
    void filter(int table, const std::function<bool(RowId)>& keep, RunContext& context);

    // Rows of the join, |J|. Error out_of_range when over 2^53.
    uint64_t count(RunContext& context) const;
    // Rows of the join that each row of `table` takes part in, n_ρ of Cromp, Samadian, Pruhs §2.
    Buffer<uint64_t> counts(int table, RunContext& context) const;

  private:
    std::vector<Table> tables_;
    JoinTree tree_;
    std::vector<Separator> separators_;
    std::vector<uint64_t> rows_read_;
};

} // namespace btml::relational
