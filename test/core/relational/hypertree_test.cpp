#include "core/relational/join/hypertree.hpp"

#include "random_join.hpp"

#include "core/relational/join/fractional_cover.hpp"
#include "core/relational/join/join_tree.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace btml::relational {
namespace {

using test::Random;

using Edges = std::vector<std::vector<int>>;

double all_alike(int, const std::vector<int>& attributes) {
    return std::log(1000.0) * std::sqrt(static_cast<double>(attributes.size()));
}

HypertreeDecomposition decomposition_of(const Edges& edges, const LogSize& log_size = all_alike) {
    QuietContext context;
    return decompose(edges, log_size, context);
}

Edges cycle(int length) {
    Edges edges;
    for (int v = 0; v < length; v++) edges.push_back({v, (v + 1) % length});
    return edges;
}

Edges clique(int size) {
    Edges edges;
    for (int a = 0; a < size; a++)
        for (int b = a + 1; b < size; b++) edges.push_back({a, b});
    return edges;
}

double cover_number(const std::set<int>& bag, const Edges& edges) {
    Edges parts;
    for (const std::vector<int>& edge : edges) {
        parts.emplace_back();
        for (int attribute : edge)
            if (const auto at = bag.find(attribute); at != bag.end())
                parts.back().push_back(static_cast<int>(std::distance(bag.begin(), at)));
    }
    return fractional_cover(static_cast<int>(bag.size()), parts, std::vector<double>(parts.size(), 1.0));
}

// The least width over all orders of elimination, each tried.
double width_by_brute_force(const Edges& edges) {
    std::set<int> attributes;
    for (const std::vector<int>& edge : edges) attributes.insert(edge.begin(), edge.end());
    std::vector<int> order(attributes.begin(), attributes.end());
    double least = INFINITY;
    do {
        std::vector<std::set<int>> sets;
        for (const std::vector<int>& edge : edges) sets.emplace_back(edge.begin(), edge.end());
        double width = 1;
        for (int vertex : order) {
            std::set<int> bag{vertex};
            for (const std::set<int>& set : sets)
                if (set.count(vertex)) bag.insert(set.begin(), set.end());
            width = std::max(width, cover_number(bag, edges));
            std::erase_if(sets, [&](const std::set<int>& set) { return set.count(vertex) > 0; });
            bag.erase(vertex);
            sets.push_back(bag);
        }
        least = std::min(least, width);
    } while (std::next_permutation(order.begin(), order.end()));
    return least;
}

// The bags make the join acyclic, and none is idle.
void expect_valid(const HypertreeDecomposition& result, const Edges& edges) {
    Edges all = edges;
    all.insert(all.end(), result.bags.begin(), result.bags.end());
    EXPECT_EQ(cut_ears(all).left.size(), 1U);
    double width = 1;
    for (size_t b = 0; b < result.bags.size(); b++) {
        const std::vector<int>& bag = result.bags[b];
        EXPECT_TRUE(std::is_sorted(bag.begin(), bag.end()));
        width = std::max(width, cover_number({bag.begin(), bag.end()}, edges));
        for (size_t other = 0; other < all.size(); other++) {
            if (other == edges.size() + b) continue;
            std::set<int> larger(all[other].begin(), all[other].end());
            EXPECT_FALSE(std::includes(larger.begin(), larger.end(), bag.begin(), bag.end()));
        }
    }
    EXPECT_NEAR(result.width, width, 1e-9);
}

TEST(Hypertree, KnownWidths) {
    EXPECT_NEAR(decomposition_of(cycle(3)).width, 1.5, 1e-9);
    for (int length = 4; length < 11; length++) {
        const HypertreeDecomposition result = decomposition_of(cycle(length));
        EXPECT_NEAR(result.width, 2, 1e-9);
        EXPECT_TRUE(result.exact);
        expect_valid(result, cycle(length));
    }
    for (int size = 4; size < 7; size++) {
        const HypertreeDecomposition result = decomposition_of(clique(size));
        EXPECT_NEAR(result.width, size / 2.0, 1e-9);
        EXPECT_EQ(result.bags.size(), 1U);
    }
}

TEST(Hypertree, AcyclicOnesHaveWidthOneAndNoBags) {
    for (const Edges& edges : {Edges{{0}}, Edges{{}, {}}, Edges{{0, 1}, {1, 2}, {2, 3}, {1, 4, 5}},
                               Edges{{0, 1, 2}, {0, 1}, {1, 2}, {0, 2}}}) {
        const HypertreeDecomposition result = decomposition_of(edges);
        EXPECT_EQ(result.width, 1);
        EXPECT_TRUE(result.exact);
        EXPECT_TRUE(result.bags.empty());
    }
}

TEST(Hypertree, EqualsTheBestOrderOfElimination) {
    int cyclic = 0;
    std::set<int> widths; // in twelfths
    for (uint64_t seed = 0; seed < 300; seed++) {
        SCOPED_TRACE(seed);
        Random random(seed);
        const int vertices = 3 + random.below(4);
        Edges edges(static_cast<size_t>(3 + random.below(6)));
        for (std::vector<int>& edge : edges)
            for (int v = 0; v < vertices; v++)
                if (random.chance(0.4)) edge.push_back(v);
        const HypertreeDecomposition result = decomposition_of(edges);
        expect_valid(result, edges);
        EXPECT_NEAR(result.width, width_by_brute_force(edges), 1e-9);
        EXPECT_EQ(result.bags.empty(), cut_ears(edges).left.size() == 1);
        cyclic += !result.bags.empty();
        widths.insert(static_cast<int>(std::lround(12 * result.width)));
        if (HasFailure()) return;
    }
    EXPECT_GT(cyclic, 60);
    EXPECT_GT(widths.size(), 3U);
}

// A square can be cut along either diagonal.
TEST(Hypertree, SmallerBagsAmongEqualWidths) {
    for (int large = 0; large < 4; large++) {
        // Attribute `large` has many values in both of its tables; they should not meet each other's in one bag.
        const auto log_size = [&](int edge, const std::vector<int>& attributes) {
            const bool many = edge == large || (edge + 1) % 4 == large;
            const bool has = std::find(attributes.begin(), attributes.end(), large) != attributes.end();
            return std::log(many && has ? 1e6 : 10.0);
        };
        const HypertreeDecomposition result = decomposition_of(cycle(4), log_size);
        ASSERT_EQ(result.bags.size(), 2U);
        int with_large = 0;
        for (const std::vector<int>& bag : result.bags)
            with_large += std::find(bag.begin(), bag.end(), large) != bag.end();
        EXPECT_EQ(with_large, 1) << large;
    }
}

// Two triangles, a bridge between them and what hangs on it: the bridge is no bag.
TEST(Hypertree, OnlyCyclesAreBags) {
    const HypertreeDecomposition result =
        decomposition_of({{0, 1}, {1, 2}, {2, 0}, {2, 3}, {3, 9}, {3, 4}, {4, 5}, {5, 3}});
    EXPECT_NEAR(result.width, 1.5, 1e-9);
    std::set<std::vector<int>> bags(result.bags.begin(), result.bags.end());
    EXPECT_EQ(bags, (std::set<std::vector<int>>{{0, 1, 2}, {3, 4, 5}}));
}

// Attributes of the same tables count as one.
TEST(Hypertree, CompositeKeys) {
    Edges edges(3);
    for (int i = 0; i < 30; i++) {
        edges[0].push_back(i);
        edges[i < 15 ? 1 : 2].push_back(i);
    }
    for (int i = 30; i < 45; i++) {
        edges[1].push_back(i);
        edges[2].push_back(i);
    }
    const HypertreeDecomposition result = decomposition_of(edges);
    EXPECT_NEAR(result.width, 1.5, 1e-9);
    EXPECT_TRUE(result.exact);
    ASSERT_EQ(result.bags.size(), 1U);
    EXPECT_EQ(result.bags[0].size(), 45U);
}

TEST(Hypertree, MinFillBeyondTheExactSearch) {
    const HypertreeDecomposition ring = decomposition_of(cycle(40));
    EXPECT_FALSE(ring.exact);
    EXPECT_NEAR(ring.width, 2, 1e-9);
    expect_valid(ring, cycle(40));
    for (uint64_t seed = 0; seed < 20; seed++) {
        Random random(seed);
        Edges edges(30);
        for (std::vector<int>& edge : edges) {
            std::set<int> drawn;
            for (int i = 0; i < 3; i++) drawn.insert(random.below(25));
            edge.assign(drawn.begin(), drawn.end());
        }
        expect_valid(decomposition_of(edges), edges);
    }
}

} // namespace
} // namespace btml::relational
