#include "core/relational/streamed/join_decomposition.hpp"

#include "core/relational/join/join_tree.hpp"

#include "random_join.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace btml::relational {
namespace {

using namespace test;
using Attributes = std::vector<std::vector<int>>;

std::vector<int> sorted_set(std::vector<int> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

std::vector<int> common(const std::vector<int>& a, const std::vector<int>& b) {
    std::vector<int> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
}

// A tree of all tables and bags in which those with an attribute are connected, read children first.
void expect_join_tree(const JoinDecomposition& found, const Attributes& attributes, int root) {
    Attributes all;
    for (const std::vector<int>& table : attributes) all.push_back(sorted_set(table));
    all.insert(all.end(), found.bags.begin(), found.bags.end());
    ASSERT_EQ(found.nodes.size(), all.size());
    ASSERT_EQ(found.order.size(), all.size());
    ASSERT_EQ(found.bag_bounds.size(), found.bags.size());
    if (root >= 0) {
        EXPECT_EQ(found.order.back(), root);
    }
    std::vector<size_t> place(all.size());
    for (size_t i = 0; i < found.order.size(); i++) place[static_cast<size_t>(found.order[i])] = i;
    EXPECT_EQ(std::set<int>(found.order.begin(), found.order.end()).size(), all.size());
    std::map<int, int> occurrences, edges; // of each attribute
    for (size_t t = 0; t < all.size(); t++) {
        for (int attribute : all[t]) occurrences[attribute]++;
        const JoinTree::Node& node = found.nodes[t];
        if (node.parent < 0) {
            EXPECT_EQ(found.order.back(), static_cast<int>(t));
            EXPECT_TRUE(node.separator.empty());
            continue;
        }
        EXPECT_LT(place[t], place[static_cast<size_t>(node.parent)]);
        EXPECT_EQ(node.separator, common(all[t], all[static_cast<size_t>(node.parent)]));
        for (int attribute : node.separator) edges[attribute]++;
    }
    for (const auto& [attribute, count] : occurrences) EXPECT_EQ(edges[attribute], count - 1) << attribute;
}

TEST(JoinDecomposition, IsAJoinTreeOfTablesAndBags) {
    QuietContext context;
    int cyclic = 0;
    for (uint64_t seed = 0; seed < 600; seed++) {
        SCOPED_TRACE(seed);
        const PlainJoin join = random_join(seed, seed % 2 == 0 ? cyclic_shape : RandomShape{});
        Attributes attributes;
        std::vector<double> rows;
        for (const PlainTable& table : join.tables) {
            attributes.push_back(table.attributes);
            rows.push_back(table.rows * 100);
        }
        const int root = static_cast<int>(seed % (attributes.size() + 1)) - 1;
        const JoinDecomposition found = decompose_join(attributes, rows, root, context);
        expect_join_tree(found, attributes, root);
        EXPECT_EQ(found.bags.empty(), cut_ears(attributes).left.size() == 1);
        EXPECT_EQ(found.width > 1 + 1e-9, !found.bags.empty());
        cyclic += !found.bags.empty();
    }
    EXPECT_GT(cyclic, 50);
}

TEST(JoinDecomposition, Triangle) {
    QuietContext context;
    const JoinDecomposition found = decompose_join({{0, 1}, {1, 2}, {2, 0}, {2, 7}}, {400, 400, 400, 10}, 3, context);
    EXPECT_EQ(found.bags, (Attributes{{0, 1, 2}}));
    EXPECT_NEAR(found.bag_bounds[0], 8'000, 1e-6);
    EXPECT_NEAR(found.width, 1.5, 1e-9);
    EXPECT_EQ(decompose_join({{0, 1}, {1, 2}, {2, 0}, {2, 7}}, {400, 400, 400, 10}, -1, context).order.back(), 4);
}

TEST(JoinDecomposition, SmallSiblingsComeFirst) {
    QuietContext context;
    const JoinDecomposition found = decompose_join({{0, 1, 2}, {0, 5}, {1, 6}, {2}}, {10, 300, 100, 200}, 0, context);
    EXPECT_EQ(found.order, (std::vector<int>{2, 3, 1, 0}));
    EXPECT_EQ(found.width, 1);
    const JoinDecomposition product = decompose_join({{0}, {1}}, {5, 7}, -1, context);
    EXPECT_EQ(product.order, (std::vector<int>{0, 1}));
    EXPECT_TRUE(product.nodes[0].separator.empty());
}

} // namespace
} // namespace btml::relational
