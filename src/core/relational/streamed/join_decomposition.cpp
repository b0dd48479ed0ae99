#include "core/relational/streamed/join_decomposition.hpp"

#include "core/relational/join/fractional_cover.hpp"
#include "core/relational/join/hypertree.hpp"
#include "core/relational/join/join_tree.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace btml::relational {

namespace {

constexpr double max_bound = 1e200; // so that sums of bounds are finite

// The tables that GYO leaves over, and of each the attributes that two or more of them have.
struct Core {
    Core(const std::vector<std::vector<int>>& attributes, const std::vector<double>& rows, std::vector<int> left) {
        std::map<int, int> tables_with;
        for (int t : left)
            for (int attribute : attributes[t]) tables_with[attribute]++;
        for (int t : left) {
            std::vector<int>& edge = edges.emplace_back();
            for (int attribute : attributes[t])
                if (tables_with[attribute] > 1) edge.push_back(attribute);
            log_rows.push_back(std::log(std::max(rows[t], 1.0)));
        }
    }

    // What a bag's rows are at most, were all tables as large as estimated.
    double agm_bound(const std::vector<int>& bag) const {
        std::vector<std::vector<int>> parts;
        std::vector<double> weights;
        for (size_t e = 0; e < edges.size(); e++) {
            std::vector<int> part;
            for (int attribute : edges[e]) {
                const auto at = std::lower_bound(bag.begin(), bag.end(), attribute);
                if (at != bag.end() && *at == attribute) part.push_back(static_cast<int>(at - bag.begin()));
            }
            if (part.empty()) continue;
            parts.push_back(std::move(part));
            weights.push_back(log_rows[e]);
        }
        return std::min(std::exp(fractional_cover(static_cast<int>(bag.size()), parts, weights)), max_bound);
    }

    std::vector<std::vector<int>> edges;
    std::vector<double> log_rows;
};

void add_bags(JoinDecomposition& result, const Core& core, RunContext& context) {
    HypertreeDecomposition decomposition = decompose(
        core.edges, [&](int edge, const std::vector<int>&) { return core.log_rows[edge]; }, context);
    result.width = decomposition.width;
    result.bags = std::move(decomposition.bags);
    for (const std::vector<int>& bag : result.bags) result.bag_bounds.push_back(core.agm_bound(bag));
}

// Every table after its children, of which those with fewer rows come first: should one be empty, the others need not
// be read.
void append_after_children(const JoinTree& tree, const std::vector<double>& rows, int table, std::vector<int>& order) {
    std::vector<int> children = tree.nodes[table].children;
    std::stable_sort(children.begin(), children.end(), [&](int a, int b) { return rows[a] < rows[b]; });
    for (int child : children) append_after_children(tree, rows, child, order);
    order.push_back(table);
}

} // namespace

JoinDecomposition decompose_join(const std::vector<std::vector<int>>& attributes, const std::vector<double>& rows,
                                 int root, RunContext& context) {
    JoinDecomposition result;
    std::vector<std::vector<int>> edges = attributes;
    for (std::vector<int>& edge : edges) {
        std::sort(edge.begin(), edge.end());
        edge.erase(std::unique(edge.begin(), edge.end()), edge.end());
    }
    std::vector<int> left = cut_ears(edges).left;
    if (left.size() > 1) add_bags(result, Core(edges, rows, std::move(left)), context);
    std::vector<double> sizes = rows;
    edges.insert(edges.end(), result.bags.begin(), result.bags.end());
    sizes.insert(sizes.end(), result.bag_bounds.begin(), result.bag_bounds.end());
    if (root < 0) root = static_cast<int>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
    JoinTree tree = reroot(build_join_tree(edges), root);
    append_after_children(tree, sizes, root, result.order);
    result.nodes = std::move(tree.nodes);
    return result;
}

} // namespace btml::relational
