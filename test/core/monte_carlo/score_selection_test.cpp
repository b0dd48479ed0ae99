#include "core/monte_carlo/approx_sum.hpp"
#include "core/monte_carlo/bandwidth_selection.hpp"

#include "caught.hpp"
#include "score_data.hpp"

#include <gtest/gtest.h>

namespace btml::monte_carlo {
namespace {

using test::caught;
using test::score_rows;

std::vector<ScoredBandwidth> select(size_t rows, ScoreKind kind, ScoreMethod method, RunContext& context,
                                    SelectionOptions options = {}) {
    ThreadTeam team(context);
    options.score.method = method;
    return select_bandwidth(score_rows(rows, 2, 3, context.memory(), {has_target(kind)}), kind, options, team, context);
}

const ScoredBandwidth& best(const std::vector<ScoredBandwidth>& curve) {
    return *std::find_if(curve.begin(), curve.end(), [](const ScoredBandwidth& row) { return row.best; });
}

TEST(SelectBandwidth, ChoosesAsTheExactCurveDoes) {
    QuietContext context(2);
    SelectionOptions options;
    options.steps = 12;
    for (const ScoreKind kind : {ScoreKind::kr, ScoreKind::kde}) {
        const auto exact = select(1'600, kind, ScoreMethod::exact, context, options);
        const auto sampled = select(1'600, kind, ScoreMethod::sampled, context, options);
        ASSERT_EQ(exact.size(), 12U);
        ASSERT_EQ(sampled.size(), 12U);
        const double grid_step = std::pow(exact.back().bandwidths.x / exact.front().bandwidths.x, 1.0 / 7);
        EXPECT_LE(std::abs(std::log(best(sampled).bandwidths.x / best(exact).bandwidths.x)),
                  std::log(grid_step) * 1.01);
        for (size_t i = 0; i + 1 < sampled.size(); i++) EXPECT_LT(sampled[i].bandwidths.x, sampled[i + 1].bandwidths.x);
        for (const ScoredBandwidth& row : exact) {
            EXPECT_EQ(row.std_error, 0);
            EXPECT_GE(row.score, best(exact).score);
        }
        for (const ScoredBandwidth& row : sampled) EXPECT_GT(row.std_error, 0);
    }
}

TEST(SelectBandwidth, TargetBandwidthsHaveAGridOfTheirOwn) {
    QuietContext context(2);
    SelectionOptions options;
    options.steps = 6;
    const auto curve = select(600, ScoreKind::kcde, ScoreMethod::exact, context, options);
    EXPECT_EQ(curve.size(), 4U + 5 + 2); // the target's grid and the first of x meet in one
    double least = 0;
    for (const ScoredBandwidth& row : curve) least = std::min(least, row.score);
    EXPECT_EQ(best(curve).score, least);
    EXPECT_GT(best(curve).bandwidths.target, 0.1);
    EXPECT_LT(best(curve).bandwidths.target, 1.5); // the noise has a standard deviation of 1
}

TEST(SelectBandwidth, SampledConditionalDensitiesChooseAsTheExactOnesDo) {
    QuietContext context(2);
    SelectionOptions options;
    options.steps = 9;
    const auto exact = select(1'200, ScoreKind::kcde, ScoreMethod::exact, context, options);
    const auto sampled = select(1'200, ScoreKind::kcde, ScoreMethod::sampled, context, options);
    double x[2] = {1e9, 0}, target[2] = {1e9, 0};
    for (const auto& [bandwidths, score, std_error, best] : exact) {
        EXPECT_EQ(std_error, 0);
        x[0] = std::min(x[0], bandwidths.x), x[1] = std::max(x[1], bandwidths.x);
        target[0] = std::min(target[0], bandwidths.target), target[1] = std::max(target[1], bandwidths.target);
    }
    EXPECT_GT(best(sampled).std_error, 0);
    const Bandwidths& a = best(exact).bandwidths;
    const Bandwidths& b = best(sampled).bandwidths;
    // Of the nine, six are the grid.
    EXPECT_LE(std::abs(std::log(a.x / b.x)), std::log(x[1] / x[0]) / 5 * 1.01);
    EXPECT_LE(std::abs(std::log(a.target / b.target)), std::log(target[1] / target[0]) / 5 * 1.01);
}

// Coordinates that are rounded make a density of ever smaller bandwidths, if it goes by least squares.
TEST(SelectBandwidth, LikelihoodFindsABandwidthForRoundedPoints) {
    QuietContext context(2);
    ThreadTeam team(context);
    SelectionOptions options;
    options.steps = 12;
    const auto range = [&](ScoreKind kind) {
        ScoreRows rows = score_rows(1'500, 2, 3, context.memory(), {false});
        for (double& x : rows.values) x = std::round(x * 20) / 20;
        options.lower = 1e-3, options.upper = 3;
        return select_bandwidth(std::move(rows), kind, options, team, context);
    };
    const auto squares = range(ScoreKind::kde), likelihood = range(ScoreKind::likelihood);
    EXPECT_EQ(best(squares).bandwidths.x, squares.front().bandwidths.x);
    EXPECT_GT(best(likelihood).bandwidths.x, 0.05);
    EXPECT_LT(best(likelihood).bandwidths.x, 0.3); // the clusters have a standard deviation of 0.4
}

// Those of one bandwidth of x share their samples, those of different ones do not.
TEST(SelectBandwidth, SampledCurvesAreTheExactOnes) {
    QuietContext context(2);
    ThreadTeam team(context);
    SelectionOptions options;
    options.steps = 3;
    for (const auto& [kind, kernel] : {std::pair{ScoreKind::kr, Kernel{}},
                                       {ScoreKind::kcde, Kernel{}},
                                       {ScoreKind::likelihood, Kernel{}},
                                       {ScoreKind::kr, pairwise::kernel_of<pairwise::Epanechnikov>},
                                       {ScoreKind::likelihood, pairwise::kernel_of<pairwise::Laplacian>},
                                       {ScoreKind::kde, pairwise::kernel_of<pairwise::Matern32>}}) {
        ScoreOptions exactly;
        exactly.method = ScoreMethod::exact;
        exactly.kernel = options.score.kernel = kernel;
        Scores exact(score_rows(1'600, 2, 3, context.memory(), {has_target(kind)}), kind, exactly, context);
        for (const ScoredBandwidth& row : select(1'600, kind, ScoreMethod::sampled, context, options))
            EXPECT_NEAR(row.score, exact.estimate(row.bandwidths, team).value, 4 * row.std_error + 1e-9)
                << row.bandwidths.x << " " << row.bandwidths.target;
    }
}

TEST(SelectBandwidth, GivenRanges) {
    QuietContext context;
    SelectionOptions options;
    options.lower = 0.1;
    options.upper = 0.8;
    options.steps = 4;
    const auto curve = select(300, ScoreKind::kr, ScoreMethod::automatic, context, options);
    EXPECT_DOUBLE_EQ(curve.front().bandwidths.x, 0.1);
    EXPECT_NEAR(curve.back().bandwidths.x, 0.8, 1e-12);
    options.upper = 0.05;
    const auto error = caught([&] { select(300, ScoreKind::kr, ScoreMethod::automatic, context, options); });
    EXPECT_EQ(error.message, "invalid range of bandwidths: from 0.1 to 0.05");
}

TEST(SelectBandwidth, AsManyBandwidthsAsStepsWhereverTheBestIs) {
    QuietContext context;
    SelectionOptions options;
    for (const auto& [lower, upper] : {std::pair{4.0, 9.0}, {1e-3, 1e-2}, {0.02, 2.0}})
        for (const int steps : {2, 3, 4, 8, 9}) {
            options.lower = lower, options.upper = upper, options.steps = steps;
            const auto curve = select(60, ScoreKind::kr, ScoreMethod::exact, context, options);
            EXPECT_EQ(curve.size(), static_cast<size_t>(steps)) << lower;
            for (size_t i = 0; i + 1 < curve.size(); i++) EXPECT_LT(curve[i].bandwidths.x, curve[i + 1].bandwidths.x);
            const auto pairs = select(30, ScoreKind::kcde, ScoreMethod::exact, context, options);
            EXPECT_EQ(pairs.size(), static_cast<size_t>(2 * steps - 1)) << lower;
        }
}

TEST(SelectBandwidth, EqualPointsHaveNoRange) {
    QuietContext context;
    ThreadTeam team(context);
    ScoreRows rows(1, false, context.memory());
    for (int i = 0; i < 10; i++) rows.values.push_back(2);
    const auto error = caught([&] { select_bandwidth(std::move(rows), ScoreKind::kde, {}, team, context); });
    EXPECT_EQ(error.message, "all points are the same: there is no range of bandwidths to search");
    EXPECT_EQ(error.hint, "Give both \"lower\" and \"upper\".");
}

// Estimates from the pages of one seed, which are drawn in stages; nothing where all would be.
std::optional<double> sample_sum(std::span<const double> all, uint64_t seed, const PageSampling& options) {
    for (double fraction = first_fraction(all.size(), options); fraction < 1;) {
        std::vector<double> drawn;
        for (uint64_t page = 0; page < all.size(); page++)
            if (random_unit(seed, 1, page) < fraction) drawn.push_back(all[page]);
        const PageEstimate estimate = estimate_sum(drawn, all.size(), 0, options);
        if (estimate.precise) return estimate.sum;
        fraction = estimate.fraction;
    }
    return std::nullopt;
}

TEST(ApproxSum, HoldsItsErrorOnSkewedPages) {
    std::vector<double> all(150'000);
    double sum = 0;
    RandomStream random(2, 2);
    for (double& total : all) sum += total = std::exp(1.2 * test::normal(random)) * 100;
    int misses = 0;
    const PageSampling options{0.05, 0.95};
    for (uint64_t seed = 0; seed < 60; seed++) {
        const std::optional<double> estimate = sample_sum(all, seed, options);
        ASSERT_TRUE(estimate);
        if (std::abs(*estimate - sum) > options.epsilon * sum) misses++;
    }
    EXPECT_LE(misses, 8); // 3 expected; more than 8 with probability 0.004
}

// VACUUM leaves pages without rows, of which a sample may hold none.
TEST(ApproxSum, PagesWithoutRowsNeedNoScan) {
    int misses = 0, scans = 0, samples = 0;
    for (const double empty : {0.003, 0.008, 0.015, 0.05})
        for (const double spread : {0.0, 0.05}) {
            std::vector<double> all(12'000);
            double sum = 0;
            RandomStream random(4, 1);
            for (double& total : all)
                sum += total = random.unit() < empty ? 0 : 100 * (1 + spread * test::normal(random));
            const PageSampling options{0.01, 0.95};
            for (uint64_t seed = 0; seed < 50; seed++, samples++) {
                const std::optional<double> estimate = sample_sum(all, seed, options);
                if (!estimate)
                    scans++;
                else if (std::abs(*estimate - sum) > options.epsilon * sum)
                    misses++;
            }
        }
    EXPECT_EQ(scans, 0);
    EXPECT_LE(misses, samples / 20);
}

// Without a variance there is no normal approximation: of 60 rows a page whose values are beyond x with probability
// x^(−3/2), the largest hundred of the table are some per cent of its sum.
TEST(ApproxSum, InfiniteVarianceIsNotSampled) {
    const PageSampling options{0.02, 0.95};
    int misses = 0;
    for (uint64_t table = 0; table < 6; table++) {
        std::vector<double> all(10'000);
        double sum = 0;
        RandomStream random(3, table);
        for (double& total : all) {
            for (int row = 0; row < 60; row++) total += std::pow(1 - random.unit(), -1 / 1.5);
            sum += total;
        }
        for (uint64_t seed = 0; seed < 7; seed++)
            if (const auto estimate = sample_sum(all, seed, options))
                if (std::abs(*estimate - sum) > options.epsilon * sum) misses++;
    }
    EXPECT_LE(misses, 2);
}

TEST(ApproxSum, AsksForAllWhereNothingLessWillDo) {
    const std::vector<double> opposed{1, -1, 1, -1, 1, -1}, one_huge(2'000, 1.0), equal(320, 5.0);
    EXPECT_EQ(estimate_sum(opposed, 1'000, 0, {}).fraction, 1);
    std::vector<double> huge = one_huge;
    huge[7] = 1e9;
    EXPECT_EQ(estimate_sum(huge, 10'000, 0, {}).fraction, 1);
    EXPECT_FALSE(estimate_sum(std::vector<double>(20, 5.0), 10'000, 0, {}).precise); // too few to tell
    const PageEstimate sure = estimate_sum(equal, 10'000, 0, {});
    EXPECT_TRUE(sure.precise);
    EXPECT_NEAR(sure.sum, 50'000, 1e-6);
    EXPECT_FALSE(estimate_sum({}, 10'000, 0, {}).precise);
    const PageEstimate zeros = estimate_sum(std::vector<double>(500, 0.0), 10'000, 0, {});
    EXPECT_FALSE(zeros.precise); // what is summed may be on a few pages
    EXPECT_EQ(zeros.fraction, 1);
}

// One of 320 pages of 5 may be moved by 0.01/16 of 5 · 320.
TEST(ApproxSum, ALargeValueThatIsKnownCountsAsIfItWereMet) {
    const std::vector<double> equal(320, 5.0);
    EXPECT_TRUE(estimate_sum(equal, 10'000, 0.99, {}).precise);
    const PageEstimate larger = estimate_sum(equal, 10'000, 1.01, {});
    EXPECT_FALSE(larger.precise);
    EXPECT_NEAR(larger.fraction, 0.048, 1e-9); // half as many again
    EXPECT_EQ(estimate_sum(equal, 10'000, 1e9, {}).fraction, 1);
    EXPECT_EQ(estimate_sum(equal, 10'000, std::numeric_limits<double>::infinity(), {}).fraction, 1);
}

// Squares of such distances are no numbers. Scores are those of points at a distance of one, in units of the distance.
TEST(SelectBandwidth, PointsAtTinyDistancesHaveTheScoresOfOthers) {
    QuietContext context(1);
    ThreadTeam team(context);
    const auto rows_at = [&](double distance) {
        ScoreRows rows(1, false, context.memory());
        for (int i = 0; i < 50; i++) rows.values.push_back(i * distance);
        return rows;
    };
    SelectionOptions options;
    options.steps = 4;
    options.score.kernel = pairwise::kernel_of<pairwise::Matern32>;
    options.score.method = ScoreMethod::exact;
    Scores apart(rows_at(1), ScoreKind::kde, options.score, context);
    for (const double distance : {1e-160, 1e-152, 1e-3}) {
        const auto curve = select_bandwidth(rows_at(distance), ScoreKind::kde, options, team, context);
        ASSERT_EQ(curve.size(), 4u) << distance;
        for (const ScoredBandwidth& found : curve) {
            const double expected = apart.estimate({found.bandwidths.x / distance}, team).value;
            EXPECT_NEAR(found.score * distance / expected, 1, 1e-9) << distance << " " << found.bandwidths.x;
        }
    }
}

} // namespace
} // namespace btml::monte_carlo
