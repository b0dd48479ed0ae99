#include "core/relational/streamed/join_decomposition.hpp"

#include "core/relational/join/hypertree.hpp"
#include "core/relational/join/join_tree.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace btml::relational {

namespace {

constexpr double max_bound = 1e200; // so that sums of bounds are finite

// left: the tables that GYO leaves over.
void add_bags(JoinDecomposition& result, const std::vector<std::vector<int>>& edges, const std::vector<double>& rows,
              const std::vector<int>& left, RunContext& context) {
    std::vector<std::vector<int>> core;
    for (int t : left) core.push_back(edges[t]);
    const auto log_size = [&](int edge, const std::vector<int>&) { return std::log(std::max(rows[left[edge]], 1.0)); };
    HypertreeDecomposition decomposition = decompose(core, log_size, context);
    result.width = decomposition.width;
    result.bags = std::move(decomposition.bags);
    for (const std::vector<int>& bag : result.bags)
        result.bag_bounds.push_back(std::min(std::exp(fractional_cover(bag, core, log_size)), max_bound));
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
    if (const std::vector<int> left = cut_ears(edges).left; left.size() > 1)
        add_bags(result, edges, rows, left, context);
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
