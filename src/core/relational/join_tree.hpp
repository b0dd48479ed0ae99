// Acyclicity and join trees (GYO reduction: Graham; Yu and Özsoyoğlu 1979).
#pragma once

#include <string>
#include <vector>

namespace btml::relational {

struct JoinTree {
    struct Node {
        int parent = -1; // -1: the root
        std::vector<int> children;
        std::vector<int> separator; // attributes shared with the parent, ascending; empty for a Cartesian product
    };
    std::vector<Node> nodes; // one per table, same numbers
    std::vector<int> order;  // every table, parents before children; order[0] is the root

    int root() const { return order.front(); }
};

// attributes[t]: the join attributes of table t. Error not_supported for a cyclic join; it names the tables that GYO
// leaves over.
JoinTree build_join_tree(const std::vector<std::vector<int>>& attributes, const std::vector<std::string>& names);

// The same tree hung up at another table.
JoinTree reroot(const JoinTree& tree, int root);

} // namespace btml::relational
