#include "core/relational/join/join_tree.hpp"

#include "core/base/error.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace btml::relational {

namespace {

std::vector<int> common(const std::vector<int>& a, const std::vector<int>& b) {
    std::vector<int> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
}

// Children ascending, order depth-first from the root, from the parents and separators of `nodes`.
JoinTree hang_up(std::vector<JoinTree::Node> nodes, int root) {
    JoinTree tree{std::move(nodes), {}};
    for (JoinTree::Node& node : tree.nodes) node.children.clear();
    for (size_t t = 0; t < tree.nodes.size(); t++)
        if (tree.nodes[t].parent >= 0) tree.nodes[tree.nodes[t].parent].children.push_back(static_cast<int>(t));
    std::vector<int> open{root};
    while (!open.empty()) {
        const int table = open.back();
        open.pop_back();
        tree.order.push_back(table);
        const std::vector<int>& children = tree.nodes[table].children;
        open.insert(open.end(), children.rbegin(), children.rend());
    }
    return tree;
}

// The GYO reduction: ears are cut off one after another.
class Reduction {
  public:
    explicit Reduction(std::vector<std::vector<int>> edges) : edges_(std::move(edges)) {
        for (size_t t = 0; t < edges_.size(); t++) {
            std::vector<int>& edge = edges_[t];
            std::sort(edge.begin(), edge.end());
            edge.erase(std::unique(edge.begin(), edge.end()), edge.end());
            result_.left.push_back(static_cast<int>(t));
        }
    }

    EarRemoval run() && {
        while (result_.left.size() > 1 && cut_one_ear()) continue;
        return std::move(result_);
    }

  private:
    // Looks for ears from the last table to the first, so that the first tends to become the root.
    bool cut_one_ear() {
        for (auto ear = result_.left.rbegin(); ear != result_.left.rend(); ++ear) {
            std::vector<int> shared = shared_attributes(*ear);
            const int witness = find_witness(*ear, shared);
            if (witness < 0) continue;
            result_.ears.push_back({*ear, witness, std::move(shared)});
            result_.left.erase(std::next(ear).base());
            return true;
        }
        return false;
    }

    // Attributes of a table that some other table which is left has too.
    std::vector<int> shared_attributes(int table) const {
        std::vector<int> rest;
        for (int other : result_.left)
            if (other != table) rest.insert(rest.end(), edges_[other].begin(), edges_[other].end());
        std::sort(rest.begin(), rest.end());
        rest.erase(std::unique(rest.begin(), rest.end()), rest.end());
        return common(edges_[table], rest);
    }

    int find_witness(int table, const std::vector<int>& shared) const {
        for (int other : result_.left)
            if (other != table &&
                std::includes(edges_[other].begin(), edges_[other].end(), shared.begin(), shared.end()))
                return other;
        return -1;
    }

    std::vector<std::vector<int>> edges_;
    EarRemoval result_;
};

} // namespace

EarRemoval cut_ears(const std::vector<std::vector<int>>& attributes) {
    return Reduction(attributes).run();
}

JoinTree build_join_tree(const std::vector<std::vector<int>>& attributes) {
    EarRemoval reduction = cut_ears(attributes);
    if (reduction.left.size() != 1)
        throw Error(
            ErrorCode::internal,
            format("a join tree needs at least one table and no cycle, %zu tables are left", reduction.left.size()));
    std::vector<JoinTree::Node> nodes(attributes.size());
    for (Ear& ear : reduction.ears) {
        nodes[ear.table].parent = ear.witness;
        nodes[ear.table].separator = std::move(ear.separator);
    }
    return hang_up(std::move(nodes), reduction.left.front());
}

JoinTree reroot(const JoinTree& tree, int root) {
    std::vector<JoinTree::Node> nodes = tree.nodes;
    int parent = -1;
    std::vector<int> separator;
    for (int table = root; table >= 0;) {
        JoinTree::Node& node = nodes[table];
        std::swap(node.separator, separator);
        table = std::exchange(node.parent, std::exchange(parent, table));
    }
    return hang_up(std::move(nodes), root);
}

} // namespace btml::relational
