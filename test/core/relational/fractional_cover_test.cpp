#include "core/relational/join/fractional_cover.hpp"

#include "caught.hpp"
#include "random_join.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace btml::relational {
namespace {

using btml::test::Caught;
using btml::test::caught;
using test::Random;

using Edges = std::vector<std::vector<int>>;

double cover_number(int vertices, const Edges& edges) {
    return fractional_cover(vertices, edges, std::vector<double>(edges.size(), 1.0));
}

Edges cycle(int length) {
    Edges edges;
    for (int v = 0; v < length; v++) edges.push_back({v, (v + 1) % length});
    return edges;
}

TEST(FractionalCover, KnownNumbers) {
    EXPECT_EQ(cover_number(1, {{0}}), 1);
    EXPECT_EQ(cover_number(3, {{0, 1, 2}, {0}}), 1);
    EXPECT_EQ(cover_number(0, {}), 0);
    for (int length = 3; length < 12; length++) EXPECT_NEAR(cover_number(length, cycle(length)), length / 2.0, 1e-9);
    for (int k = 3; k < 9; k++) { // a clique of edges between two
        Edges clique;
        for (int a = 0; a < k; a++)
            for (int b = a + 1; b < k; b++) clique.push_back({a, b});
        EXPECT_NEAR(cover_number(k, clique), k / 2.0, 1e-9);
    }
    // Loomis and Whitney: all sets of k − 1 of k vertices.
    for (int k = 3; k < 8; k++) {
        Edges sets;
        for (int left_out = 0; left_out < k; left_out++) {
            sets.emplace_back();
            for (int v = 0; v < k; v++)
                if (v != left_out) sets.back().push_back(v);
        }
        EXPECT_NEAR(cover_number(k, sets), k / (k - 1.0), 1e-9);
    }
}

TEST(FractionalCover, WeightsOfATriangle) {
    const auto bound = [](double r, double s, double t) {
        return std::exp(fractional_cover(3, cycle(3), {std::log(r), std::log(s), std::log(t)}));
    };
    EXPECT_NEAR(bound(100, 100, 100), 1000, 1e-6);
    EXPECT_NEAR(bound(4, 9, 16), 24, 1e-9);       // √(4·9·16)
    EXPECT_NEAR(bound(2, 3, 1'000'000), 6, 1e-9); // two of them are a cover
    EXPECT_NEAR(bound(1, 1, 7), 1, 1e-9);
}

// Solves the square system by elimination with pivoting; nothing where it is singular.
std::vector<double> solve(std::vector<std::vector<double>> rows) {
    const size_t n = rows.size();
    for (size_t c = 0; c < n; c++) {
        size_t pivot = c;
        for (size_t r = c; r < n; r++)
            if (std::abs(rows[r][c]) > std::abs(rows[pivot][c])) pivot = r;
        if (std::abs(rows[pivot][c]) < 1e-9) return {};
        std::swap(rows[c], rows[pivot]);
        for (size_t r = 0; r < n; r++) {
            if (r == c) continue;
            const double times = rows[r][c] / rows[c][c];
            for (size_t i = c; i <= n; i++) rows[r][i] -= times * rows[c][i];
        }
    }
    std::vector<double> x;
    for (size_t c = 0; c < n; c++) x.push_back(rows[c][n] / rows[c][c]);
    return x;
}

// The least value over the corners of the polytope: each makes as many constraints equalities as there are edges.
double by_corners(int vertices, const Edges& edges, const std::vector<double>& weights) {
    const size_t n = edges.size();
    std::vector<std::vector<double>> constraints;
    for (size_t e = 0; e < n; e++) {
        constraints.emplace_back(n + 1, 0.0);
        constraints.back()[e] = 1;
    }
    for (int v = 0; v < vertices; v++) {
        constraints.emplace_back(n + 1, 1.0);
        for (size_t e = 0; e < n; e++)
            constraints.back()[e] = std::count(edges[e].begin(), edges[e].end(), v) > 0 ? 1 : 0;
    }
    double least = INFINITY;
    for (uint32_t set = 0; set < 1U << constraints.size(); set++) {
        if (__builtin_popcount(set) != static_cast<int>(n)) continue;
        std::vector<std::vector<double>> tight;
        for (size_t c = 0; c < constraints.size(); c++)
            if (set >> c & 1) tight.push_back(constraints[c]);
        const std::vector<double> x = solve(tight);
        if (x.empty()) continue;
        bool feasible = true;
        for (const std::vector<double>& constraint : constraints) {
            double sum = 0;
            for (size_t e = 0; e < n; e++) sum += constraint[e] * x[e];
            feasible &= sum >= constraint[n] - 1e-9;
        }
        double value = 0;
        for (size_t e = 0; e < n; e++) value += weights[e] * x[e];
        if (feasible) least = std::min(least, value);
    }
    return least;
}

TEST(FractionalCover, EqualsTheBestCorner) {
    int fractional = 0;
    for (uint64_t seed = 0; seed < 600; seed++) {
        SCOPED_TRACE(seed);
        Random random(seed);
        const int vertices = 1 + random.below(5);
        Edges edges(static_cast<size_t>(2 + random.below(4)));
        for (int v = 0; v < vertices; v++) {
            edges[static_cast<size_t>(random.below(static_cast<int>(edges.size())))].push_back(v);
            for (std::vector<int>& edge : edges)
                if (random.chance(0.4) && (edge.empty() || edge.back() != v)) edge.push_back(v);
        }
        std::vector<double> weights;
        for (size_t e = 0; e < edges.size(); e++) weights.push_back(seed % 2 ? 1 : random.below(4)); // some 0
        const double value = fractional_cover(vertices, edges, weights);
        EXPECT_NEAR(value, by_corners(vertices, edges, weights), 1e-9);
        fractional += std::abs(value - std::round(value)) > 1e-6;
        if (HasFailure()) return;
    }
    EXPECT_GT(fractional, 5);
}

TEST(FractionalCover, NeedsAnEdgeForEveryVertex) {
    const Caught error = caught([] { cover_number(2, {{0}}); });
    EXPECT_EQ(error.code, ErrorCode::internal);
    EXPECT_EQ(error.message, "a vertex of a hypergraph is in no edge");
}

} // namespace
} // namespace btml::relational
