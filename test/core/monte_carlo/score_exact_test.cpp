#include "core/monte_carlo/pair_sums.hpp"
#include "core/monte_carlo/scores.hpp"
#include "core/monte_carlo/square_integral.hpp"
#include "core/numbers/elementary.hpp"

#include "caught.hpp"
#include "score_data.hpp"

#include <gtest/gtest.h>

namespace btml::monte_carlo {
namespace {

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

ScoreEstimate score_of(ScoreKind kind, const ExactRows& rows, const Bandwidths& bandwidths, ThreadTeam& team,
                       RunContext& context, Kernel kernel = {}) {
    const ScoreForm form(kind, kernel, rows.points().dimensions);
    return exact_scores(form, rows, {&bandwidths, 1}, team, context).front();
}

TEST(ScoreEstimates, AreTheirDefinitions) {
    QuietContext context(2);
    ThreadTeam team(context);
    for (const size_t dimensions : {1, 2, 5})
        for (const size_t n : {2, 3, 31, 66})
            for (const double h : {0.05, 0.3, 2.0, 50.0}) {
                const ScoreRows rows = score_rows(n, dimensions, n, context.memory(), {true, false, 0.2});
                const ExactRows exact(rows, context);
                const double kr = reference_kr(rows, h), kde = reference_kde(rows, h);
                if (std::isfinite(kr)) { // the definition underflows
                    EXPECT_NEAR(score_of(ScoreKind::kr, exact, {h}, team, context).value, kr, 1e-10 * (1 + kr));
                }
                const double peak = test::normal_density(0, h * h, dimensions);
                EXPECT_NEAR(score_of(ScoreKind::kde, exact, {h}, team, context).value, kde, 1e-12 * peak);
                const double likelihood = reference_likelihood(rows, h);
                if (std::isfinite(likelihood)) {
                    EXPECT_NEAR(score_of(ScoreKind::likelihood, exact, {h}, team, context).value, likelihood,
                                1e-10 * (1 + std::abs(likelihood)));
                }
                for (const double h1 : {0.02, 0.5, 30.0}) {
                    const double kcde = reference_kcde(rows, h, h1);
                    if (std::isfinite(kcde)) {
                        EXPECT_NEAR(score_of(ScoreKind::kcde, exact, {h, h1}, team, context).value, kcde, 1e-11 / h1);
                    }
                }
            }
}

// Those that a score of the kind can have.
std::vector<Kernel> kernels_of(ScoreKind kind) {
    std::vector<Kernel> kernels;
    for (const Kernel kernel : test::all_kernels)
        if (caught([&] { ScoreForm(kind, kernel, 1); }).message.empty()) kernels.push_back(kernel);
    return kernels;
}

TEST(ScoreEstimates, AreTheirDefinitionsForEveryKernel) {
    QuietContext context(2);
    ThreadTeam team(context);
    for (uint64_t seed = 0; seed < 40; seed++) {
        RandomStream random(seed, 5);
        const size_t n = 2 + random.below(60), dimensions = 1 + random.below(4);
        const double h = std::exp(6 * random.unit() - 4);
        const ScoreRows rows = score_rows(n, dimensions, seed, context.memory(), {true, false, 0.1});
        const ExactRows exact(rows, context);
        const auto expect = [&](ScoreKind kind, Kernel kernel, double reference, double error) {
            if (!std::isfinite(reference)) return; // the definition underflows
            const ScoreEstimate score = score_of(kind, exact, {h, 0.5}, team, context, kernel);
            EXPECT_NEAR(score.value, reference, error)
                << pairwise::facts_of(kernel).name << ' ' << name_of(kind) << ' ' << n << ' ' << dimensions << ' ' << h;
        };
        for (const Kernel kernel : kernels_of(ScoreKind::kr)) {
            const double kr = reference_kr(rows, h, kernel);
            expect(ScoreKind::kr, kernel, kr, 1e-9 * (1 + kr));
            expect(ScoreKind::kcde, kernel, reference_kcde(rows, h, 0.5, kernel), 1e-10);
        }
        for (const Kernel kernel : kernels_of(ScoreKind::likelihood)) {
            const double likelihood = reference_likelihood(rows, h, kernel);
            expect(ScoreKind::likelihood, kernel, likelihood, 1e-10 * (1 + std::abs(likelihood)));
        }
        for (const Kernel kernel : kernels_of(ScoreKind::kde))
            expect(ScoreKind::kde, kernel, reference_kde(rows, h, kernel),
                   1e-11 * test::convolution_of(rows, 0, 0, h, kernel));
    }
}

// Of Matérn kernels, against sums over a grid, in one to three dimensions.
TEST(Convolution, LogarithmIsThatOfTheBesselFunction) {
    for (const Kernel kernel : {pairwise::kernel_of<pairwise::Matern32>, pairwise::kernel_of<pairwise::Matern52>})
        for (const size_t d : {1, 2, 3, 4, 9, 20}) {
            const pairwise::Convolution convolution(kernel, d);
            const long double order = 2 * facts_of(kernel).order + d / 2.0L;
            for (double a = 0.01; a < 600; a *= 1.013) {
                const long double exact = (1 - order) * std::numbers::ln2_v<long double> - std::lgamma(order) +
                                          order * std::log(static_cast<long double>(a)) +
                                          std::log(std::cyl_bessel_k(order, static_cast<long double>(a)));
                ASSERT_NEAR(convolution.logarithm(a), static_cast<double>(exact), 1e-11)
                    << facts_of(kernel).name << ' ' << d << ' ' << a;
            }
        }
}

TEST(Convolution, IsThatOfTheKernelWithItself) {
    for (const Kernel kernel : {pairwise::kernel_of<pairwise::Matern32>, pairwise::kernel_of<pairwise::Matern52>})
        for (const size_t d : {1, 2, 3}) {
            const pairwise::KernelFacts& facts = facts_of(kernel);
            const pairwise::Convolution convolution(kernel, d);
            const double integral = std::exp(facts.log_integral(static_cast<double>(d)));
            const auto value = [&](double square) {
                return test::kernel_value(kernel, {std::sqrt(square)}, {0}, 1) / integral;
            };
            for (const double distance : {0.0, 1.0, 5.0}) {
                constexpr double step = 0.1, farthest = 22;
                double sum = 0; // over a plane: the distance along the line of both centres, and that from it
                for (double x = -farthest; x < farthest + distance; x += step)
                    for (double y = step / 2; y < (d == 1 ? step : farthest); y += step) {
                        const double across = d == 1 ? 0 : y * y, area = d == 1   ? 1
                                                                         : d == 2 ? 2
                                                                                  : 2 * std::numbers::pi * y;
                        sum += value(x * x + across) * value((x - distance) * (x - distance) + across) * area * step *
                               (d == 1 ? 1 : step);
                    }
                const double a = distance * std::sqrt(2 * facts.order);
                EXPECT_NEAR(std::exp(convolution.log_peak() + convolution.logarithm(a)) / sum, 1, 2e-3)
                    << facts.name << ' ' << d << ' ' << distance;
            }
        }
}

TEST(ScoreForm, NamesTheKernelsThatAScoreCanHave) {
    const auto squares = caught([] { ScoreForm(ScoreKind::kde, pairwise::kernel_of<pairwise::Laplacian>, 1); });
    EXPECT_EQ(squares.code, ErrorCode::invalid_argument);
    EXPECT_EQ(squares.message, "score \"kde\" cannot have the kernel \"laplacian\"");
    EXPECT_EQ(squares.hint, "Kernels of this score are: gaussian, matern32, matern52.");
    const auto likelihood =
        caught([] { ScoreForm(ScoreKind::likelihood, pairwise::kernel_of<pairwise::Epanechnikov>, 1); });
    EXPECT_EQ(likelihood.hint, "Kernels of this score are: gaussian, laplacian, matern32, matern52.");
    EXPECT_EQ(kernels_of(ScoreKind::kr).size(), pairwise::Kernels::size);
    EXPECT_EQ(kernels_of(ScoreKind::kcde).size(), pairwise::Kernels::size);
}

// Where no kernel value is a number, the nearest rows count, in the kernel's metric.
TEST(ScoreEstimates, NearestRowsUnderEveryKernel) {
    QuietContext context;
    ThreadTeam team(context);
    ScoreRows rows(2, true, context.memory());
    for (const auto& [x, y, target] : {std::tuple{0.0, 0.0, 1.0}, {2.9, 3.0, 5.0}, {0.0, 5.6, 2.0}})
        for (const double value : {x, y, target}) rows.values.push_back(value);
    const ExactRows exact(rows, context);
    for (const Kernel kernel : kernels_of(ScoreKind::kr)) {
        const ScoreEstimate score = score_of(ScoreKind::kr, exact, {1e-3}, team, context, kernel);
        // From (0, 0), (0, 5.6) is the nearer one by absolute differences, (2.9, 3) by squares.
        const bool squares = facts_of(kernel).sum_at(3) == 9;
        EXPECT_NEAR(score.value, ((squares ? 16 : 1) + 9 + 9) / 3.0, 1e-9) << facts_of(kernel).name;
        EXPECT_EQ(score.underflows, 3U);
    }
}

TEST(ScoreEstimates, OfDensitiesWithoutATarget) {
    QuietContext context;
    ThreadTeam team(context);
    const ScoreRows rows = score_rows(100, 3, 1, context.memory(), {false});
    EXPECT_NEAR(score_of(ScoreKind::kde, ExactRows(rows, context), {0.4}, team, context).value,
                reference_kde(rows, 0.4), 1e-12);
}

// Where every weight underflows, the nearest row alone counts: what the score tends to.
TEST(ScoreEstimates, NearestRowWhereAllWeightsUnderflow) {
    QuietContext context;
    ThreadTeam team(context);
    ScoreRows rows(1, true, context.memory());
    for (const double x : {0.0, 1.0, 3.0, 3.0}) {
        rows.values.push_back(x);
        rows.values.push_back(10 * x);
    }
    const ExactRows exact(rows, context);
    const ScoreEstimate kr = score_of(ScoreKind::kr, exact, {1e-3}, team, context);
    EXPECT_DOUBLE_EQ(kr.value, (100.0 + 100 + 0 + 0) / 4);
    EXPECT_EQ(kr.underflows, 2U);
    const ScoreEstimate kcde = score_of(ScoreKind::kcde, exact, {1e-3, 1}, team, context);
    const double square = 1 / (2 * std::sqrt(std::numbers::pi)), peak = 1 / std::sqrt(2 * std::numbers::pi);
    EXPECT_NEAR(kcde.value, square - 2 * peak * (2 + 2 * std::exp(-50.0)) / 4, 1e-12);
    EXPECT_EQ(kcde.underflows, 2U);
    // The nearest rows are 1, 1, 0 and 0 away.
    const ScoreEstimate likelihood = score_of(ScoreKind::likelihood, exact, {1e-3}, team, context);
    EXPECT_NEAR(likelihood.value, (2 * 0.5e6) / 4 + std::log(3e-3 * std::sqrt(2 * std::numbers::pi)), 1e-9);
    EXPECT_EQ(likelihood.underflows, 0U);
    const ScoreEstimate kde = score_of(ScoreKind::kde, exact, {1e-3}, team, context);
    EXPECT_EQ(kde.underflows, 2U);
    EXPECT_NEAR(kde.value, reference_kde(rows, 1e-3), 1e-9);
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

TEST(ScoreEstimates, AnyThreadsTheSameBytes) {
    QuietContext one(1), three(3);
    ThreadTeam alone(one), team(three);
    const ScoreRows rows = score_rows(700, 3, 5, one.memory());
    const ExactRows exact(rows, one);
    EXPECT_EQ(score_of(ScoreKind::kr, exact, {0.2}, alone, one).value,
              score_of(ScoreKind::kr, exact, {0.2}, team, three).value);
    EXPECT_EQ(score_of(ScoreKind::kcde, exact, {0.2, 0.3}, alone, one).value,
              score_of(ScoreKind::kcde, exact, {0.2, 0.3}, team, three).value);
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
