// Acyclicity and join trees (GYO reduction: Graham; Yu and Özsoyoğlu 1979).
#pragma once

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
    // The parent first, if there is one.
    std::vector<int> neighbours(int table) const {
        std::vector<int> tables = nodes[table].children;
        if (nodes[table].parent >= 0) tables.insert(tables.begin(), nodes[table].parent);
        return tables;
    }
};

// A table that shares attributes with the other tables which were left, its separator, only by one of them, its
// witness.
struct Ear {
    int table, witness;
    std::vector<int> separator; // ascending
};

struct EarRemoval {
    std::vector<Ear> ears; // in the order in which they were cut off
    std::vector<int> left; // ascending: one table, or the tables of a cyclic join that are no ears
};

// attributes[t]: the join attributes of table t.
EarRemoval cut_ears(const std::vector<std::vector<int>>& attributes);

// Error internal for a cyclic join.
JoinTree build_join_tree(const std::vector<std::vector<int>>& attributes);

// Hangs the tree up at another table.
JoinTree reroot(const JoinTree& tree, int root);

} // namespace btml::relational
