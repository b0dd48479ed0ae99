// The rows of a factorised join's tables, by node of the tree under construction.
#pragma once

#include "core/boosting/factorised_weights.hpp"
#include "core/boosting/split.hpp"
#include "core/relational/filtered_join.hpp"

#include <memory>

namespace btml::boosting::factorised {

class TreeNodes {
  public:
    // A node's rows, by table. Nodes share the rows of tables that no split between them tests.
    using Rows = std::vector<std::shared_ptr<const relational::RowSubset>>;

    TreeNodes(const relational::GroupedJoin& join, RunContext& context) : join_(join), context_(context) { start(); }

    // The root, number 0, is the only node.
    void start();
    std::pair<int, int> split(int node, const BinnedData& data, const Split& split);

    const Rows& operator[](int node) const { return nodes_[static_cast<size_t>(node)]; }
    // Of all tables together.
    uint64_t rows(int node) const;
    relational::Selection selection(int node, const RowWeights& population) const;

  private:
    relational::RowSubset subset(bool all) const;

    const relational::GroupedJoin& join_;
    RunContext& context_;
    std::vector<Rows> nodes_;
};

} // namespace btml::boosting::factorised
