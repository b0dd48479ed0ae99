// JoinResiduals of a join's rows as a sum of queries over the join, of which none looks at the join's rows one by one:
// the target's values less, for every leaf of every earlier tree, its value where a row lies in it.
#pragma once

#include "core/boosting/factorised/factorised_rows.hpp"
#include "core/boosting/growing/split.hpp"
#include "core/relational/filtered/filtered_sums.hpp"

#include <memory>

namespace btml::boosting::factorised {

// The rows of the join's tables, by node of the tree under construction.
class TreeNodes {
  public:
    // A node's rows, by table. Nodes share the rows of tables that no split between them tests.
    using Rows = std::vector<std::shared_ptr<const relational::RowSubset>>;

    TreeNodes(const relational::GroupedJoin& join, RunContext& context)
        : join_(join), context_(context), sides_(context) {
        start();
    }

    // The root, number 0, is the only node.
    void start();
    std::pair<int, int> split(int node, const BinnedData& data, const Split& split);

    const Rows& operator[](int node) const { return nodes_[node]; }
    // Counts those of all tables together.
    uint64_t rows(int node) const;
    relational::Selection selection(int node, const RowWeights& population) const;

  private:
    relational::RowSubset subset(bool all) const;

    const relational::GroupedJoin& join_;
    RunContext& context_;
    BinSides sides_;
    std::vector<Rows> nodes_;
};

// Holds sums by row of each table; those of tables that are not asked for are empty, and so may all squares be.
struct RowSums {
    std::vector<Buffer<double>> sums, counts, squares;

    RowSums(size_t tables, MemoryBudget& memory);
};

// Null where a buffer is empty.
std::vector<double*> pointers(std::vector<Buffer<double>>& buffers);

class ResidualQueries {
  public:
    static constexpr uint64_t pairs_at_once = 256; // of queries, for squares

    ResidualQueries(const relational::GroupedJoin& join, size_t target_table, ThreadTeam& team, RunContext& context);

    // The residuals of the target table's rows before any leaf.
    Buffer<double>& values() { return values_; }
    // Starts without leaves, over the join's rows as they are now.
    void start();
    // Subtracts the value from the rows of a node.
    void subtract(const TreeNodes::Rows& rows, int64_t value);

    // Returns for each row of the tables that are asked for, over the selected join rows that it takes part in, the sum
    // of weight · residual, and of weights.
    RowSums sums(const relational::Selection& selection, const std::vector<bool>& tables);
    // Brings sums of the same selection up to date: `known` of the queries are in them.
    void update(RowSums& sums, const relational::Selection& selection, size_t known);
    // Returns the sum of weights only.
    RowWeights counts(const relational::Selection& selection, const std::vector<bool>& tables);
    // Returns the sum of weight · residual².
    RowWeights squares(const relational::Selection& selection, const std::vector<bool>& tables);
    relational::FilteredSums::Total total(const relational::Selection& selection);
    double count(const relational::Selection& selection) { return sums_.total(selection, {}).count; }

    const std::vector<relational::FilterQuery>& queries() const { return queries_; }
    const std::vector<relational::RowFilters>& filters() const { return filters_; }
    const relational::FilteredJoin& filtered() const { return filtered_; }

  private:
    RowSums no_sums(const std::vector<bool>& tables) const;
    relational::FilterQuery plain_query(double coefficient, int power) const;

    Buffer<double> values_;
    std::vector<relational::RowFilters> filters_;  // by table
    std::vector<relational::FilterQuery> queries_; // whose sum is the residual
    const relational::FilteredJoin filtered_;
    relational::FilteredSums sums_;
};

} // namespace btml::boosting::factorised
