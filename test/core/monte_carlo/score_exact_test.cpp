#include "core/monte_carlo/exact_scores.hpp"
#include "core/monte_carlo/scores.hpp"
#include "core/monte_carlo/square_integral.hpp"
#include "core/pairwise/exponential.hpp"

#include "caught.hpp"
#include "score_data.hpp"

#include <gtest/gtest.h>

namespace btml::monte_carlo {
namespace {

using pairwise::exponential;
using test::caught;
using test::reference_kcde;
using test::reference_kde;
using test::reference_kr;
using test::reference_likelihood;
using test::score_rows;

TEST(Exponential, AsTheLibrarysToRounding) {
    RandomStream random(3, 1);
    for (int i = 0; i < 100'000; i++) {
        const double x = -random.unit() * 700;
        EXPECT_NEAR(exponential(x) / std::exp(x), 1, 1e-13) << x;
    }
    EXPECT_EQ(exponential(0), 1);
    EXPECT_EQ(exponential(-709), 0);
    EXPECT_EQ(exponential(-std::numeric_limits<double>::infinity()), 0);
}

TEST(ExactScores, AreTheirDefinitions) {
    QuietContext context(2);
    ThreadTeam team(context);
    for (const size_t dimensions : {1, 2, 5})
        for (const size_t n : {2, 3, 31, 80})
            for (const double h : {0.05, 0.3, 2.0, 50.0}) {
                const ScoreRows rows = score_rows(n, dimensions, n, context.memory(), {true, false, 0.2});
                const ExactRows exact(rows, context);
                const double kr = reference_kr(rows, h), kde = reference_kde(rows, h);
                if (std::isfinite(kr)) { // the definition underflows
                    EXPECT_NEAR(exact_score<KrScore>(exact, {h}, team, context).score, kr, 1e-10 * (1 + kr));
                }
                const double peak = test::normal_density(0, h * h, dimensions);
                EXPECT_NEAR(exact_score<KdeScore>(exact, {h}, team, context).score, kde, 1e-12 * peak);
                const double likelihood = reference_likelihood(rows, h);
                if (std::isfinite(likelihood)) {
                    EXPECT_NEAR(exact_score<LikelihoodScore>(exact, {h}, team, context).score, likelihood,
                                1e-10 * (1 + std::abs(likelihood)));
                }
                for (const double h1 : {0.02, 0.5, 30.0}) {
                    const double kcde = reference_kcde(rows, h, h1);
                    if (std::isfinite(kcde)) {
                        EXPECT_NEAR(exact_score<KcdeScore>(exact, {h, h1}, team, context).score, kcde, 1e-11 / h1);
                    }
                }
            }
}

TEST(ExactScores, OfDensitiesWithoutATarget) {
    QuietContext context;
    ThreadTeam team(context);
    const ScoreRows rows = score_rows(100, 3, 1, context.memory(), {false});
    EXPECT_NEAR(exact_score<KdeScore>(ExactRows(rows, context), {0.4}, team, context).score, reference_kde(rows, 0.4),
                1e-12);
}

// Where every weight underflows, the nearest row alone counts: what the score tends to.
TEST(ExactScores, NearestRowWhereAllWeightsUnderflow) {
    QuietContext context;
    ThreadTeam team(context);
    ScoreRows rows(1, true, context.memory());
    for (const double x : {0.0, 1.0, 3.0, 3.0}) {
        rows.values.push_back(x);
        rows.values.push_back(10 * x);
    }
    const ExactRows exact(rows, context);
    const ExactScore kr = exact_score<KrScore>(exact, {1e-3}, team, context);
    EXPECT_DOUBLE_EQ(kr.score, (100.0 + 100 + 0 + 0) / 4);
    EXPECT_EQ(kr.underflows, 2U);
    const ExactScore kcde = exact_score<KcdeScore>(exact, {1e-3, 1}, team, context);
    const double square = 1 / (2 * std::sqrt(std::numbers::pi)), peak = 1 / std::sqrt(2 * std::numbers::pi);
    EXPECT_NEAR(kcde.score, square - 2 * peak * (2 + 2 * std::exp(-50.0)) / 4, 1e-12);
    EXPECT_EQ(kcde.underflows, 2U);
    // The nearest rows are 1, 1, 0 and 0 away.
    const ExactScore likelihood = exact_score<LikelihoodScore>(exact, {1e-3}, team, context);
    EXPECT_NEAR(likelihood.score, (2 * 0.5e6) / 4 + std::log(3e-3 * std::sqrt(2 * std::numbers::pi)), 1e-9);
    EXPECT_EQ(likelihood.underflows, 0U);
    const ExactScore kde = exact_score<KdeScore>(exact, {1e-3}, team, context);
    EXPECT_EQ(kde.underflows, 2U);
    EXPECT_NEAR(kde.score, reference_kde(rows, 1e-3), 1e-9);
}

// Targets near each other, far apart and both: their order and gaps do not matter.
TEST(MixtureIntegrals, AreThoseOfTheirPairs) {
    for (const double spread : {0.01, 1.0, 1e3, 1e9})
        for (const double h : {0.1, 3.0}) {
            RandomStream random(8, 2);
            std::vector<WeightedTarget> targets;
            for (int i = 0; i < 50; i++)
                targets.push_back({(random.unit() - 0.3) * (i % 2 ? spread : 1), random.unit()});
            double square = 0, value = 0, weights = 0;
            for (const auto& [y, w] : targets) {
                weights += w;
                value += w * test::normal_density((y - 0.1) * (y - 0.1), h * h, 1);
                for (const auto& [z, v] : targets)
                    square += w * v * test::normal_density((y - z) * (y - z), 2 * h * h, 1);
            }
            const MixtureIntegrals integrals = mixture_integrals(targets, 0.1, h);
            EXPECT_NEAR(integrals.square / square, 1, 1e-3);
            EXPECT_NEAR(integrals.value, value, 1e-12 * weights / h);
        }
}

TEST(ExactScores, AnyThreadsTheSameBytes) {
    QuietContext one(1), three(3);
    ThreadTeam alone(one), team(three);
    const ScoreRows rows = score_rows(700, 3, 5, one.memory());
    const ExactRows exact(rows, one);
    EXPECT_EQ(exact_score<KrScore>(exact, {0.2}, alone, one).score,
              exact_score<KrScore>(exact, {0.2}, team, three).score);
    EXPECT_EQ(exact_score<KcdeScore>(exact, {0.2, 0.3}, alone, one).score,
              exact_score<KcdeScore>(exact, {0.2, 0.3}, team, three).score);
}

ScoreOptions exactly() {
    ScoreOptions options;
    options.method = ScoreMethod::exact;
    return options;
}

TEST(Scores, OrderOfRowsAndShiftOfTargetsLeaveNoTrace) {
    QuietContext context(2);
    ThreadTeam team(context);
    const ScoreRows rows = score_rows(300, 2, 9, context.memory());
    ScoreRows reversed(2, true, context.memory());
    for (size_t i = rows.size(); i-- > 0;)
        for (size_t k = 0; k < 3; k++) reversed.values.push_back(rows.row(i)[k]);
    const double reference = test::reference_kr(rows, 0.3);
    ScoreOptions sampled;
    sampled.method = ScoreMethod::sampled;
    for (const ScoreOptions& options : {exactly(), sampled}) {
        Scores first(score_rows(300, 2, 9, context.memory()), ScoreKind::kr, options, context);
        ScoreRows copy(2, true, context.memory());
        for (const double x : reversed.values) copy.values.push_back(x);
        Scores second(std::move(copy), ScoreKind::kr, options, context);
        const ScoreEstimate a = first.estimate({0.3}, team), b = second.estimate({0.3}, team);
        EXPECT_EQ(a.value, b.value);
        EXPECT_EQ(a.std_error, b.std_error);
        EXPECT_NEAR(a.value / reference, 1, options.method == ScoreMethod::exact ? 1e-12 : 0.1);
    }
}

TEST(Scores, ConstantTargetsAndEqualPoints) {
    QuietContext context;
    ThreadTeam team(context);
    for (const ScoreMethod method : {ScoreMethod::exact, ScoreMethod::sampled}) {
        ScoreOptions options;
        options.method = method;
        ScoreRows constant(2, true, context.memory()), equal(2, true, context.memory());
        RandomStream random(1, 1);
        double mean = 0;
        for (int i = 0; i < 500; i++) {
            for (const double x : {random.unit(), random.unit(), 7.0}) constant.values.push_back(x);
            for (const double x : {1.0, 2.0, static_cast<double>(i % 2)}) equal.values.push_back(x);
            mean += i % 2;
        }
        // Each differs from the mean of the others by 250/499.
        EXPECT_NEAR(Scores(std::move(constant), ScoreKind::kr, options, context).estimate({0.1}, team).value, 0, 1e-20);
        EXPECT_NEAR(Scores(std::move(equal), ScoreKind::kr, options, context).estimate({1e-9}, team).value,
                    250.0 / 499 * 250 / 499, method == ScoreMethod::exact ? 1e-12 : 0.03);
    }
}

TEST(Scores, ErrorsNameTheRowsAndTheRange) {
    QuietContext context;
    ThreadTeam team(context);
    const auto few = caught([&] { Scores(score_rows(1, 2, 1, context.memory()), ScoreKind::kr, {}, context); });
    EXPECT_EQ(few.code, ErrorCode::invalid_argument);
    EXPECT_EQ(few.message, "a score needs two rows or more, the source has 1");
    const auto range = caught([&] {
        Scores(score_rows(10, 4, 1, context.memory(), {false}), ScoreKind::kde, {}, context).estimate({1e-100}, team);
    });
    EXPECT_EQ(range.code, ErrorCode::out_of_range);
    EXPECT_EQ(range.message, "the score is out of the range of numbers");
    EXPECT_EQ(range.detail, "The bandwidth is 1e-100.");
}

TEST(Scores, TooLittleMemoryIsRefused) {
    QuietContext context(1, 1 << 20);
    ScoreRows rows = score_rows(10'000, 4, 1, context.memory());
    const auto error = caught([&] { Scores(std::move(rows), ScoreKind::kr, {}, context); });
    EXPECT_EQ(error.code, ErrorCode::memory_limit);
}

TEST(Scores, CancelStopsThem) {
    for (const ScoreMethod method : {ScoreMethod::exact, ScoreMethod::sampled}) {
        test::ImpatientContext context(30);
        ThreadTeam team(context);
        ScoreOptions options;
        options.method = method;
        EXPECT_THROW(
            Scores(score_rows(3'000, 2, 1, context.memory()), ScoreKind::kr, options, context).estimate({0.1}, team),
            Cancelled);
    }
}

} // namespace
} // namespace btml::monte_carlo
