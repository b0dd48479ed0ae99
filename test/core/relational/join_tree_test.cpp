#include "core/relational/join/join_tree.hpp"

#include "caught.hpp"
#include "random_join.hpp"

#include <gtest/gtest.h>

namespace btml::relational {
namespace {

using btml::test::Caught;
using btml::test::caught;
using test::Random;

using Attributes = std::vector<std::vector<int>>;

std::set<int> intersection(const std::vector<int>& a, const std::vector<int>& b) {
    std::set<int> both;
    for (int x : a)
        if (std::find(b.begin(), b.end(), x) != b.end()) both.insert(x);
    return both;
}

// A join is acyclic exactly if some spanning tree of its tables weighs, in attributes shared along its edges, as much
// as the attributes can: each once for every table that has it beyond the first (Maier 1983).
bool is_acyclic(const Attributes& attributes) {
    std::set<size_t> reached{0};
    size_t weight = 0;
    while (reached.size() < attributes.size()) {
        size_t best = 0, best_table = 0;
        for (size_t t = 0; t < attributes.size(); t++) {
            if (reached.count(t)) continue;
            if (best_table == 0) best_table = t;
            for (size_t other : reached) {
                const size_t shared = intersection(attributes[t], attributes[other]).size();
                if (shared > best) best = shared, best_table = t;
            }
        }
        weight += best;
        reached.insert(best_table);
    }
    size_t occurrences = 0;
    std::set<int> all;
    for (const std::vector<int>& table : attributes) {
        occurrences += std::set<int>(table.begin(), table.end()).size();
        all.insert(table.begin(), table.end());
    }
    return weight == occurrences - all.size();
}

void expect_tree(const JoinTree& tree, const Attributes& attributes) {
    const size_t count = attributes.size();
    ASSERT_EQ(tree.nodes.size(), count);
    ASSERT_EQ(tree.order.size(), count);
    EXPECT_EQ(tree.nodes[static_cast<size_t>(tree.root())].parent, -1);
    std::set<int> seen;
    size_t weight = 0;
    for (int table : tree.order) {
        const JoinTree::Node& node = tree.nodes[static_cast<size_t>(table)];
        if (table == tree.root()) {
            EXPECT_TRUE(node.separator.empty());
        } else {
            EXPECT_TRUE(seen.count(node.parent)) << "a child before its parent";
            const std::set<int> shared =
                intersection(attributes[static_cast<size_t>(table)], attributes[static_cast<size_t>(node.parent)]);
            EXPECT_EQ(node.separator, std::vector<int>(shared.begin(), shared.end()));
            const std::vector<int>& siblings = tree.nodes[static_cast<size_t>(node.parent)].children;
            EXPECT_EQ(std::count(siblings.begin(), siblings.end(), table), 1);
        }
        EXPECT_TRUE(std::is_sorted(node.children.begin(), node.children.end()));
        EXPECT_TRUE(seen.insert(table).second);
        weight += node.separator.size();
    }
    size_t children = 0;
    for (const JoinTree::Node& node : tree.nodes) children += node.children.size();
    EXPECT_EQ(children, count - 1);
    // As heavy as an acyclic join's tree must be: then the tables of every attribute are connected.
    std::set<int> all;
    size_t occurrences = 0;
    for (const std::vector<int>& table : attributes) {
        occurrences += std::set<int>(table.begin(), table.end()).size();
        all.insert(table.begin(), table.end());
    }
    EXPECT_EQ(weight, occurrences - all.size());
}

TEST(JoinTree, FindsATreeExactlyWhenThereIsOne) {
    int acyclic = 0, cyclic = 0;
    for (uint64_t seed = 0; seed < 3'000; seed++) {
        SCOPED_TRACE(seed);
        Random random(seed);
        Attributes attributes(static_cast<size_t>(1 + random.below(6)));
        for (std::vector<int>& table : attributes)
            for (int i = random.below(5); i > 0; i--) table.push_back(random.below(7)); // some twice, unordered
        if (is_acyclic(attributes)) {
            acyclic++;
            const JoinTree tree = build_join_tree(attributes);
            expect_tree(tree, attributes);
            for (int root = 0; root < static_cast<int>(attributes.size()); root++) {
                const JoinTree turned = reroot(tree, root);
                EXPECT_EQ(turned.root(), root);
                expect_tree(turned, attributes);
            }
        } else {
            cyclic++;
            EXPECT_GE(cut_ears(attributes).left.size(), 3U);
            EXPECT_EQ(caught([&] { build_join_tree(attributes); }).code, ErrorCode::internal);
        }
        if (HasFailure()) return;
    }
    EXPECT_GT(acyclic, 500);
    EXPECT_GT(cyclic, 200);
}

TEST(JoinTree, RerootKeepsTheEdges) {
    const Attributes attributes{{0}, {0, 1}, {1, 2}, {2, 3}, {1, 4}};
    const JoinTree tree = build_join_tree(attributes);
    const auto edges = [](const JoinTree& of) {
        std::set<std::set<int>> pairs;
        for (int t = 0; t < static_cast<int>(of.nodes.size()); t++)
            if (of.nodes[static_cast<size_t>(t)].parent >= 0)
                pairs.insert({t, of.nodes[static_cast<size_t>(t)].parent});
        return pairs;
    };
    for (int root = 0; root < 5; root++) EXPECT_EQ(edges(reroot(tree, root)), edges(tree));
}

TEST(JoinTree, DozensOfTables) {
    Attributes chain, star{{}};
    for (int t = 0; t < 60; t++) {
        chain.push_back({t, t + 1});
        star[0].push_back(t);
        star.push_back({t});
    }
    expect_tree(build_join_tree(chain), chain);
    const JoinTree tree = build_join_tree(star);
    expect_tree(tree, star);
    EXPECT_EQ(tree.root(), 0); // the first table, where it can be
}

TEST(JoinTree, OnlyTheCycleIsLeft) {
    const EarRemoval reduction = cut_ears({{0, 1}, {1, 2, 7}, {7, 9}, {2, 0}, {8}, {9}});
    EXPECT_EQ(reduction.left, (std::vector<int>{0, 1, 3}));
    ASSERT_EQ(reduction.ears.size(), 3U);
    EXPECT_EQ(reduction.ears[0].table, 5); // before its witness is cut off itself
    EXPECT_EQ(reduction.ears[0].witness, 2);
    EXPECT_EQ(reduction.ears[2].table, 2);
    EXPECT_EQ(reduction.ears[2].witness, 1);
    EXPECT_EQ(reduction.ears[2].separator, std::vector<int>{7});
}

TEST(JoinTree, NeedsATable) {
    EXPECT_EQ(caught([] { build_join_tree({}); }).message,
              "a join tree needs at least one table and no cycle, 0 tables are left");
}

} // namespace
} // namespace btml::relational
