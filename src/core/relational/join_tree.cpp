#include "core/relational/join_tree.hpp"

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
        if (tree.nodes[t].parent >= 0)
            tree.nodes[static_cast<size_t>(tree.nodes[t].parent)].children.push_back(static_cast<int>(t));
    std::vector<int> open{root};
    while (!open.empty()) {
        const int table = open.back();
        open.pop_back();
        tree.order.push_back(table);
        const std::vector<int>& children = tree.nodes[static_cast<size_t>(table)].children;
        open.insert(open.end(), children.rbegin(), children.rend());
    }
    return tree;
}

// The GYO reduction: an ear, a table that shares attributes with the rest only through one other table, its witness,
// is cut off and becomes the witness's child.
class Reduction {
  public:
    explicit Reduction(std::vector<std::vector<int>> edges) : edges_(std::move(edges)), nodes_(edges_.size()) {
        for (size_t t = 0; t < edges_.size(); t++) {
            std::vector<int>& edge = edges_[t];
            std::sort(edge.begin(), edge.end());
            edge.erase(std::unique(edge.begin(), edge.end()), edge.end());
            left_.push_back(static_cast<int>(t));
        }
    }

    // Looks for ears from the last table to the first, so that the first tends to become the root.
    bool cut_one_ear() {
        for (auto ear = left_.rbegin(); ear != left_.rend(); ++ear) {
            const std::vector<int> shared = shared_attributes(*ear);
            const int witness = find_witness(*ear, shared);
            if (witness < 0) continue;
            nodes_[static_cast<size_t>(*ear)].parent = witness;
            nodes_[static_cast<size_t>(*ear)].separator = shared;
            left_.erase(std::next(ear).base());
            return true;
        }
        return false;
    }

    const std::vector<int>& left() const { return left_; }
    const std::vector<int>& edge(int table) const { return edges_[static_cast<size_t>(table)]; }
    std::vector<JoinTree::Node> nodes() && { return std::move(nodes_); }

  private:
    // Attributes of a table that some other table which is left has too.
    std::vector<int> shared_attributes(int table) const {
        std::vector<int> rest;
        for (int other : left_)
            if (other != table) rest.insert(rest.end(), edge(other).begin(), edge(other).end());
        std::sort(rest.begin(), rest.end());
        rest.erase(std::unique(rest.begin(), rest.end()), rest.end());
        return common(edge(table), rest);
    }

    int find_witness(int table, const std::vector<int>& shared) const {
        for (int other : left_)
            if (other != table && std::includes(edge(other).begin(), edge(other).end(), shared.begin(), shared.end()))
                return other;
        return -1;
    }

    std::vector<std::vector<int>> edges_;
    std::vector<JoinTree::Node> nodes_;
    std::vector<int> left_; // tables not cut off yet, ascending
};

[[noreturn]] void report_cycle(const Reduction& reduction, const std::vector<std::string>& names) {
    std::vector<std::string> cycle;
    std::string links;
    for (size_t i = 0; i < reduction.left().size(); i++) {
        const int a = reduction.left()[i];
        cycle.push_back(names[static_cast<size_t>(a)]);
        for (size_t j = i + 1; j < reduction.left().size(); j++) {
            const int b = reduction.left()[j];
            const size_t shared = common(reduction.edge(a), reduction.edge(b)).size();
            if (shared == 0) continue;
            if (!links.empty()) links += ", ";
            links += format("\"%s\" and \"%s\" (%zu)", names[static_cast<size_t>(a)].c_str(),
                            names[static_cast<size_t>(b)].c_str(), shared);
        }
    }
    throw Error(ErrorCode::not_supported, format("the join of %s is cyclic", quoted_list(cycle).c_str()),
                format("Tables of the cycle that share join attributes, and how many: %s.", links.c_str()),
                "Join some of these tables in a sub-query that ends in OFFSET 0: it is read as one table.");
}

} // namespace

JoinTree build_join_tree(const std::vector<std::vector<int>>& attributes, const std::vector<std::string>& names) {
    if (attributes.empty() || attributes.size() != names.size())
        throw Error(ErrorCode::internal, format("a join tree needs at least one table and a name for each, got %zu "
                                                "tables and %zu names",
                                                attributes.size(), names.size()));
    Reduction reduction(attributes);
    while (reduction.left().size() > 1)
        if (!reduction.cut_one_ear()) report_cycle(reduction, names);
    const int root = reduction.left().front();
    return hang_up(std::move(reduction).nodes(), root);
}

JoinTree reroot(const JoinTree& tree, int root) {
    std::vector<JoinTree::Node> nodes = tree.nodes;
    int parent = -1;
    std::vector<int> separator;
    for (int table = root; table >= 0;) {
        JoinTree::Node& node = nodes[static_cast<size_t>(table)];
        std::swap(node.separator, separator);
        table = std::exchange(node.parent, std::exchange(parent, table));
    }
    return hang_up(std::move(nodes), root);
}

} // namespace btml::relational
