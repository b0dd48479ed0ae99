#include "core/base/levels.hpp"
#include "core/monte_carlo/pair_sums.hpp"
#include "core/monte_carlo/scores.hpp"

#include "score_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace btml::monte_carlo {
namespace {

using test::score_rows;

TEST(QuickExponential, AsTheLibrarysToRounding) {
    RandomStream random(4, 1);
    for (int i = 0; i < 100'000; i++) {
        const double x = random.unit() * 700;
        double power = x * pairwise::steps_of_e;
        pairwise::decay_by_sixteenths<double, uint64_t>(power);
        EXPECT_NEAR(power / std::exp(-x), 1, 6e-15 + 4e-16 * x) << x;
    }
    for (const auto& [x, expected] : {std::pair{0.0, 1.0},
                                      {16.0, 0.5},
                                      {16.0 * 1021, 0x1p-1021},
                                      {16.0 * 1022, 0.0},
                                      {std::numeric_limits<double>::infinity(), 0.0},
                                      {std::numeric_limits<double>::quiet_NaN(), 0.0}}) {
        double power = x;
        pairwise::decay_by_sixteenths<double, uint64_t>(power);
        EXPECT_EQ(power, expected) << x;
    }
}

// Sums over the others of a row, in long double.
struct Reference {
    long double first = 0, second = 0, magnitude = 0;
};

Reference reference(const ScoreForm& form, const ScoreRows& rows, size_t i, double h) {
    Reference sums;
    for (size_t j = 0; j < rows.size(); j++) {
        if (j == i) continue;
        const long double weight = test::weight_of(rows, i, j, h, form.kernel);
        if (form.kind == ScoreKind::kde) {
            const long double wide = test::convolution_of(rows, i, j, h, form.kernel);
            if (!std::isnan(wide)) // far away it is infinity times 0
                sums.first += wide / test::convolution_of(rows, i, i, h, form.kernel);
            sums.second += weight;
            sums.magnitude += weight;
            continue;
        }
        sums.first += weight;
        if (!rows.target) continue;
        sums.second += weight * rows.row(j)[rows.dimensions];
        sums.magnitude += weight * std::abs(rows.row(j)[rows.dimensions]);
    }
    return sums;
}

void expect_near(const RowSums& sums, const Reference& expected, double error) {
    EXPECT_NEAR(sums.first, static_cast<double>(expected.first), error * static_cast<double>(expected.first) + 1e-280);
    EXPECT_NEAR(sums.second, static_cast<double>(expected.second),
                error * static_cast<double>(expected.magnitude) + 1e-280);
}

// Rows with targets in their order, as ExactRows has them, so that both have the same.
ScoreRows ordered(ScoreRows rows, MemoryBudget& budget) {
    if (!rows.target) return rows;
    std::vector<size_t> order(rows.size());
    for (size_t i = 0; i < order.size(); i++) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return rows.row(a)[rows.dimensions] < rows.row(b)[rows.dimensions]; });
    ScoreRows result(rows.dimensions, true, budget);
    for (const size_t i : order)
        for (size_t k = 0; k < rows.width(); k++) result.values.push_back(rows.row(i)[k]);
    return result;
}

std::vector<Bandwidths> some_bandwidths(RandomStream& random) {
    return {{1e-40}, {1e-3}, {std::exp(4 * random.unit() - 3)}, {1.0}, {50.0}, {1e40}};
}

// All sums at a level, and at each bandwidth alone.
std::vector<double> all_sums(const ScoreForm& form, const ExactRows& rows, std::span<const Bandwidths> bandwidths,
                             ThreadTeam& team, RunContext& context) {
    std::vector<double> all;
    const PairSums sums(form, rows, bandwidths, team, context);
    for (size_t b = 0; b < bandwidths.size(); b++)
        for (size_t i = 0; i < rows.size(); i++) {
            all.push_back(sums.of(b, i).first);
            all.push_back(sums.of(b, i).second);
        }
    return all;
}

std::vector<ScoreForm> all_forms(size_t dimensions) {
    std::vector<ScoreForm> forms;
    for (const Kernel kernel : test::all_kernels) {
        forms.emplace_back(ScoreKind::kr, kernel, dimensions);
        if (facts_of(kernel).order > 0) forms.emplace_back(ScoreKind::kde, kernel, dimensions);
    }
    return forms;
}

TEST(PairSums, AreThoseOfTheirPairsAtEveryLevel) {
    QuietContext context;
    ThreadTeam team(context);
    for (size_t n = 1; n <= 70; n++) {
        RandomStream random(n, 6);
        const size_t dimensions = 1 + random.below(6);
        const ScoreRows rows =
            ordered(score_rows(n, dimensions, n, context.memory(), {n % 3 != 0, false, 0.1}), context.memory());
        const ExactRows exact(rows, context);
        const std::vector<Bandwidths> bandwidths = some_bandwidths(random);
        for (const ScoreForm& form : all_forms(dimensions)) {
            SCOPED_TRACE(testing::Message() << n << ' ' << name_of(form.kind) << ' ' << facts_of(form.kernel).name);
            const PairSums sums(form, exact, bandwidths, team, context);
            for (size_t b = 0; b < bandwidths.size(); b++)
                for (size_t i = 0; i < n; i++)
                    expect_near(sums.of(b, i), reference(form, rows, i, bandwidths[b].x), 1e-11);
            const std::vector<double> best = all_sums(form, exact, bandwidths, team, context);
            for (const Level level : {Level::baseline, Level::avx2}) {
                choose_level(level);
                EXPECT_EQ(best, all_sums(form, exact, bandwidths, team, context));
            }
            choose_level(best_level());
        }
    }
}

// Of odd and even numbers of blocks, with a last one that is full and one that is not.
TEST(PairSums, MeetEveryPairOnce) {
    QuietContext context(2);
    ThreadTeam team(context);
    for (const size_t n : {96, 511, 512, 513, 1000, 4100, 4400}) {
        const ScoreRows rows = ordered(score_rows(n, 2, n, context.memory()), context.memory());
        const ExactRows exact(rows, context);
        const ScoreForm form(ScoreKind::kr, {}, 2);
        const Bandwidths wide{1e100}, usual{0.3};
        const PairSums counts(form, exact, {&wide, 1}, team, context), sums(form, exact, {&usual, 1}, team, context);
        for (size_t i = 0; i < n; i++) {
            ASSERT_EQ(counts.of(0, i).first, static_cast<double>(n - 1)) << n << ' ' << i;
            if (i % 97 == 0) expect_near(sums.of(0, i), reference(form, rows, i, usual.x), 1e-12);
        }
    }
}

TEST(PairSums, DependOnNeitherThreadsNorOtherBandwidths) {
    QuietContext one(1), three(3);
    ThreadTeam alone(one), team(three);
    RandomStream random(1, 6);
    const std::vector<Bandwidths> bandwidths = some_bandwidths(random);
    for (const size_t n : {100, 1500}) {
        const ScoreRows rows = score_rows(n, 3, n, one.memory());
        const ExactRows exact(rows, one);
        for (const ScoreForm& form : all_forms(3)) {
            const std::vector<double> all = all_sums(form, exact, bandwidths, alone, one);
            EXPECT_EQ(all, all_sums(form, exact, bandwidths, team, three));
            std::vector<double> apart;
            for (const Bandwidths& of : bandwidths)
                for (const double x : all_sums(form, exact, {&of, 1}, team, three)) apart.push_back(x);
            EXPECT_EQ(all, apart);
        }
    }
}

TEST(ScoreEstimates, OfConditionalDensitiesAreTheSameAtEveryLevel) {
    QuietContext context;
    ThreadTeam team(context);
    for (const size_t n : {2, 5, 67, 130}) {
        const ExactRows rows(score_rows(n, 2, n, context.memory(), {true, false, 0.1}), context);
        for (const double h : {1e-4, 0.3, 20.0}) {
            const Bandwidths of{h, 0.2 * h};
            const ScoreForm form(ScoreKind::kcde, {}, 2);
            const double best = exact_scores(form, rows, {&of, 1}, team, context).front().value;
            for (const Level level : {Level::baseline, Level::avx2}) {
                choose_level(level);
                EXPECT_EQ(best, exact_scores(form, rows, {&of, 1}, team, context).front().value) << n << ' ' << h;
            }
            choose_level(best_level());
        }
    }
}

// Where all of them at once would not fit, they are summed a few at a time.
TEST(ScoreEstimates, OfManyBandwidthsFitInLittleMemory) {
    const ScoreForm form(ScoreKind::kr, {}, 2);
    std::vector<Bandwidths> bandwidths;
    for (int i = 0; i < 40; i++) bandwidths.push_back({0.1 * std::pow(1.1, i)});
    std::vector<std::vector<double>> scores;
    for (const uint64_t megabytes : {1, 100}) {
        QuietContext context(1, megabytes << 20);
        ThreadTeam team(context);
        const ExactRows rows(score_rows(1'500, 2, 3, context.memory()), context);
        EXPECT_EQ(PairSums::bandwidths_at_once(rows, context.memory()) < bandwidths.size(), megabytes == 1);
        scores.emplace_back();
        for (const ScoreEstimate& score : exact_scores(form, rows, bandwidths, team, context))
            scores.back().push_back(score.value);
    }
    EXPECT_EQ(scores[0], scores[1]);
}

// Far from the origin, and far apart in units of the bandwidth: differences lose nothing.
TEST(PairSums, KeepTheirDigitsFarFromTheOrigin) {
    QuietContext context;
    ThreadTeam team(context);
    ScoreRows rows = score_rows(200, 3, 1, context.memory(), {true, false, 0.2});
    for (size_t i = 0; i < rows.size(); i++)
        for (size_t k = 0; k < 3; k++) {
            double& x = rows.values[i * rows.width() + k];
            x = std::round(x * 1024) / 1024 + (i % 2 == 0 ? 1e9 : -1e9);
        }
    rows = ordered(std::move(rows), context.memory());
    const ExactRows exact(rows, context);
    const Bandwidths of{0.2};
    for (const ScoreForm& form : all_forms(3)) {
        const PairSums sums(form, exact, {&of, 1}, team, context);
        for (size_t i = 0; i < rows.size(); i++) expect_near(sums.of(0, i), reference(form, rows, i, of.x), 1e-11);
    }
}

TEST(ScoreEstimates, OfManyBandwidthsAreThoseOfEach) {
    QuietContext context(2);
    ThreadTeam team(context);
    for (uint64_t seed = 0; seed < 6; seed++) {
        const size_t n = 50 + 60 * seed;
        const ScoreRows rows = score_rows(n, 2, seed, context.memory(), {true, false, 0.1});
        const ExactRows exact(rows, context);
        std::vector<Bandwidths> bandwidths;
        for (double h = 1e-6; h < 1e3; h *= 3) bandwidths.push_back({h, 0.4});
        for (const ScoreKind kind : {ScoreKind::kr, ScoreKind::likelihood, ScoreKind::kde}) {
            const ScoreForm form(kind, {}, 2);
            const std::vector<ScoreEstimate> together = exact_scores(form, exact, bandwidths, team, context);
            ASSERT_EQ(together.size(), bandwidths.size());
            for (size_t b = 0; b < bandwidths.size(); b++) {
                const ScoreEstimate alone = exact_scores(form, exact, {&bandwidths[b], 1}, team, context).front();
                EXPECT_EQ(together[b].value, alone.value);
                EXPECT_EQ(together[b].underflows, alone.underflows);
                if (kind != ScoreKind::kr) continue;
                const double definition = test::reference_kr(rows, bandwidths[b].x);
                if (!std::isfinite(definition)) continue; // it underflows
                EXPECT_NEAR(alone.value, definition, 1e-10 * (1 + definition)) << n << ' ' << bandwidths[b].x;
            }
        }
    }
}

} // namespace
} // namespace btml::monte_carlo
