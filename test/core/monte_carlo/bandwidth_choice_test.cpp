#include "core/monte_carlo/bandwidth_selection.hpp"

#include "caught.hpp"
#include "score_data.hpp"

#include <gtest/gtest.h>

namespace btml::monte_carlo {
namespace {

using test::caught;
using test::normal;
using test::score_rows;

BandwidthChoice choose(ScoreRows rows, Kernel kernel, RunContext& context) {
    ThreadTeam team(context);
    return choose_bandwidth(std::move(rows), kernel, 0, team, context);
}

Kernel kernel_called(const std::string& name) {
    for (size_t i = 0; i < pairwise::Kernels::size; i++)
        if (facts_of(Kernel(i)).name == name) return Kernel(i);
    throw std::invalid_argument(name);
}

ScoreRows normal_rows(size_t rows, size_t dimensions, uint64_t seed, MemoryBudget& budget) {
    ScoreRows result(dimensions, false, budget);
    RandomStream random(seed, 5);
    for (size_t i = 0; i < rows * dimensions; i++) result.values.push_back(normal(random));
    return result;
}

// (R / v²)^(1 / (d + 4)) of a radial profile by quadrature over the radius, both of the kernel that integrates to 1.
template <class Profile>
double canonical(size_t d, double end, const Profile& profile) {
    constexpr size_t steps = 200'000;
    double volume = 0, square = 0, spread = 0;
    for (size_t i = 0; i < steps; i++) {
        const double r = (static_cast<double>(i) + 0.5) * end / steps, shell = std::pow(r, d - 1.0), k = profile(r);
        volume += k * shell;
        square += k * k * shell;
        spread += k * r * r * shell;
    }
    const double step = end / steps, surface = 2 * std::pow(std::numbers::pi, d / 2.0) / std::tgamma(d / 2.0);
    const double mass = volume * step * surface, variance = spread / volume / static_cast<double>(d);
    return std::pow(square * step * surface / (mass * mass) / (variance * variance), 1 / (d + 4.0));
}

TEST(ChooseBandwidth, TakesTheBestOfTheCurve) {
    QuietContext context(2);
    for (const char* const name : {"gaussian", "laplacian", "matern32", "matern52"}) {
        const BandwidthChoice density = choose(normal_rows(800, 2, 1, context.memory()), kernel_called(name), context);
        EXPECT_EQ(density.kind, ScoreKind::likelihood);
        const BandwidthChoice mean = choose(score_rows(800, 2, 1, context.memory()), kernel_called(name), context);
        EXPECT_EQ(mean.kind, ScoreKind::kr);
        for (const BandwidthChoice* const choice : {&density, &mean}) {
            const auto best = std::min_element(choice->curve.begin(), choice->curve.end(),
                                               [](const auto& a, const auto& b) { return a.score < b.score; });
            EXPECT_EQ(choice->bandwidth, best->bandwidths.x) << name;
        }
    }
    EXPECT_EQ(choose(score_rows(800, 2, 1, context.memory()), kernel_called("epanechnikov"), context).scored,
              kernel_called("epanechnikov"));
}

TEST(ChooseBandwidth, OfNormalRowsIsNearTheOneThatMinimisesTheIntegratedError) {
    QuietContext context(2);
    for (const size_t d : {1, 2, 3}) {
        const size_t n = 2'500;
        double sum = 0;
        constexpr int seeds = 8;
        for (int seed = 0; seed < seeds; seed++)
            sum += std::log(choose(normal_rows(n, d, seed, context.memory()), Kernel{}, context).bandwidth);
        // Silverman: Density Estimation for Statistics and Data Analysis, table 4.1.
        const double silverman = std::pow(4 / (d + 2.0) / n, 1 / (d + 4.0));
        EXPECT_NEAR(std::exp(sum / seeds) / silverman, 1, 0.3) << d;
    }
}

TEST(ChooseBandwidth, KernelsThatEndAreMadeToSmoothAsTheGaussianDoes) {
    QuietContext context(1);
    for (const size_t d : {1, 2, 3, 7}) {
        const auto bandwidth = [&](const char* name) {
            const BandwidthChoice choice =
                choose(normal_rows(300, d, 3, context.memory()), kernel_called(name), context);
            EXPECT_EQ(choice.scored, Kernel{});
            return choice.bandwidth;
        };
        const double expected = canonical(d, 1, [](double r) { return 1 - r * r; }) /
                                canonical(d, 14, [](double r) { return std::exp(-r * r / 2); });
        EXPECT_NEAR(bandwidth("epanechnikov") / bandwidth("gaussian") / expected, 1, 1e-6) << d;
    }
}

TEST(ChooseBandwidth, IsTheSameForEveryOrderAndNumberOfThreads) {
    double first = 0;
    for (const int threads : {1, 2, 3}) {
        QuietContext context(threads);
        ScoreRows rows = normal_rows(6'000, 2, 9, context.memory());
        if (threads == 2) std::reverse(rows.values.begin(), rows.values.end()); // both coordinates change places, too
        if (threads == 2)
            for (size_t i = 0; i < rows.values.size(); i += 2) std::swap(rows.values[i], rows.values[i + 1]);
        const double bandwidth = choose(std::move(rows), Kernel{}, context).bandwidth;
        if (first == 0) first = bandwidth;
        EXPECT_EQ(bandwidth, first) << threads;
    }
}

TEST(ChooseBandwidth, OfRoundedRowsIsNoNarrowerThanTheirDistance) {
    QuietContext context(2);
    for (const double unit : {0.01, 1.0, 5.0}) {
        ScoreRows rows = normal_rows(4'000, 1, 2, context.memory());
        for (double& x : rows.values) x = std::round(x / unit) * unit;
        const BandwidthChoice choice = choose(std::move(rows), Kernel{}, context);
        EXPECT_TRUE(choice.curve.empty());
        const double silverman = std::pow(4 / 3.0 / 4'000, 0.2);
        EXPECT_NEAR(choice.bandwidth, std::max(unit, silverman), 0.02 * std::max(unit, silverman)) << unit;
    }
}

// Nothing but the widest bandwidth makes a far row likely, and no bandwidth predicts a far target.
TEST(ChooseBandwidth, RowsFarFromAllOthersDoNotCount) {
    QuietContext context(2);
    const Kernel gaussian = kernel_called("gaussian");
    const double density = choose(normal_rows(800, 2, 1, context.memory()), gaussian, context).bandwidth;
    const double mean = choose(score_rows(800, 2, 1, context.memory()), gaussian, context).bandwidth;
    for (const double far : {9999999.0, -1e15}) {
        ScoreRows rows = normal_rows(800, 2, 1, context.memory());
        rows.values[2 * 17 + 1] = far;
        EXPECT_NEAR(choose(std::move(rows), gaussian, context).bandwidth, density, 0.02 * density) << far;
        for (const size_t column : {0, 2}) {
            ScoreRows with_targets = score_rows(800, 2, 1, context.memory());
            with_targets.values[3 * 17 + column] = far;
            EXPECT_NEAR(choose(std::move(with_targets), gaussian, context).bandwidth, mean, 0.02 * mean) << far;
        }
    }
}

// Where three tenths of the numbers of each of many columns are far, no row is without one.
TEST(ChooseBandwidth, RowsCountWhereMostAreFarInSomeColumn) {
    QuietContext context(2);
    ScoreRows rows(40, false, context.memory());
    RandomStream random(1, 7);
    for (size_t i = 0; i < 400 * rows.dimensions; i++) {
        const bool is_far = random.unit() < 0.3;
        rows.values.push_back(is_far ? 9999999 : normal(random));
    }
    EXPECT_GT(choose(std::move(rows), kernel_called("gaussian"), context).bandwidth, 0);
}

TEST(ChooseBandwidth, RefusesRowsThatAreAllTheSame) {
    QuietContext context(1);
    ScoreRows rows(1, false, context.memory());
    for (int i = 0; i < 10; i++) rows.values.push_back(2);
    EXPECT_EQ(caught([&] { choose(std::move(rows), Kernel{}, context); }).code, ErrorCode::invalid_argument);
}

} // namespace
} // namespace btml::monte_carlo
