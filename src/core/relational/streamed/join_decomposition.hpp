// The tree that a streamed join is read along, found when the join is planned: tables' sizes are estimates then.
#pragma once

#include "core/base/run_context.hpp"
#include "core/relational/join/join_tree.hpp"

#include <vector>

namespace btml::relational {

struct JoinDecomposition {
    std::vector<JoinTree::Node> nodes; // the tables, then the bags
    std::vector<int> order; // children before parents, the root last; of siblings the ones with fewer rows first
    std::vector<std::vector<int>> bags; // of a cyclic join: the attributes of each, ascending
    std::vector<double> bag_bounds;     // the AGM bounds on their rows, by the rows of the tables
    double width = 1;                   // the fractional hypertree width
};

// attributes[t]: the join attributes of table t; rows[t]: about how many rows it has. root: a table, or -1 for the one
// with the most rows, which may be a bag, of which the bound counts. Error internal for no tables.
JoinDecomposition decompose_join(const std::vector<std::vector<int>>& attributes, const std::vector<double>& rows,
                                 int root, RunContext& context);

} // namespace btml::relational
