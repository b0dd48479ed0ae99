// A natural join of tables with its join tree, reduced: every row that is left takes part in at least one row of the
// join. The join itself is never written out.
#pragma once

#include "core/relational/join/bags.hpp"
#include "core/relational/join/join_tree.hpp"
#include "core/relational/join/table.hpp"

#include <functional>

namespace btml::relational {

class Join {
  public:
    // The natural join in SQL's sense: duplicate rows count, NULL keys join to nothing. Two key columns of one table
    // with the same attribute must be equal too, and one of them is kept; an attribute that occurs in one column only
    // is no condition. Tables that share no attribute make a Cartesian product. Turns left joins into plain ones (each
    // right table gets one more row, which the unmatched left rows join; outer left joins before those nested in them),
    // adds bags where there are cycles (errors as add_bags), builds the join tree, numbers the separators and removes
    // dangling rows from every table.
    Join(std::vector<Table> tables, std::vector<LeftJoin> left_joins, RunContext& context);

    // The tables that were handed over, as many as relations(), with the same numbers; then, in a cyclic join, its
    // bags. A bag has no columns, and its keys are in the separators only.
    const std::vector<Table>& tables() const { return tables_; }
    std::vector<Table>& tables() { return tables_; }
    int relations() const { return static_cast<int>(tables_.size() - cycles_.bags.size()); }
    int largest_table() const;
    const CyclicPart& cycles() const { return cycles_; }
    const JoinTree& tree() const { return tree_; }
    // The separator of a table (left) and its parent (right) in the join tree: row c of the child joins row p of the
    // parent exactly if left[c] == right[p], and every code below `count` occurs on both sides. Empty for the root.
    const KeyCodes& separator(int table) const { return separators_[table]; }
    // The keys of one table's rows on the separator that it shares with a neighbour in the tree, whichever of the two
    // is the parent (so also after reroot), and the number of such keys.
    const Buffer<Key>& keys(int table, int neighbour) const {
        return is_child(table, neighbour) ? separator(table).left : separator(neighbour).right;
    }
    uint64_t key_count(int table, int neighbour) const {
        return separator(is_child(table, neighbour) ? table : neighbour).count;
    }
    // Rows a table had when it was handed over, its null row for a left join not counted, or a bag when it was made.
    uint64_t rows_read(int table) const { return rows_read_[table]; }

    // Keeps the rows of one table for which keep(row) is true, then reduces all tables again. Row numbers change. An
    // error or a cancellation on the way leaves the join fit for destruction only.
    void filter(int table, const std::function<bool(RowId)>& keep, RunContext& context);

    // Rows of the join, |J|. Error out_of_range when over 2^53.
    uint64_t count(RunContext& context) const;
    // Does the same with numbers up to 2^127, and one number more that stands for all larger ones.
    WideCount wide_count(RunContext& context) const;

  private:
    bool is_child(int table, int parent) const { return tree_.nodes[table].parent == parent; }
    std::vector<RowMask> all_rows(MemoryBudget& memory) const;
    void merge_equal_attributes(std::vector<RowMask>& masks, RunContext& context);
    void reduce_by_ears(const std::vector<Ear>& ears, std::vector<RowMask>& masks, RunContext& context);
    void number_separators(BagCodes bag_codes, RunContext& context);
    // Removes the rows that a mask leaves out and those that then take part in no row of the join.
    void reduce(std::vector<RowMask> masks, RunContext& context);

    std::vector<Table> tables_;
    CyclicPart cycles_;
    JoinTree tree_;
    std::vector<KeyCodes> separators_;
    std::vector<uint64_t> rows_read_;
};

} // namespace btml::relational
