#include "core/monte_carlo/score_kinds.hpp"
#include "core/monte_carlo/scores.hpp"

#include "caught.hpp"
#include "score_data.hpp"

#include <gtest/gtest.h>

#include <set>

namespace btml::monte_carlo {
namespace {

using btml::test::ImpatientContext;
using test::caught;
using test::score_rows;
using GaussianScore = KrScore<pairwise::Gaussian>;

TEST(VarianceTree, NodesHoldTheirRowsWithinTheirBoxes) {
    for (const int threads : {1, 3}) {
        QuietContext context(threads);
        ThreadTeam team(context);
        ScoreRows rows = score_rows(40'000, 3, 2, context.memory(), {true, false, 0.3});
        const VarianceTree tree(std::move(rows), team, context);
        size_t leaves = 0;
        for (uint32_t number = 0; number < tree.nodes(); number++) {
            const VarianceTree::Node& node = tree.node(number);
            if (node.children == 0) {
                leaves += node.size();
                ASSERT_LE(node.size(), VarianceTree::leaf_rows);
                for (size_t i = node.begin; i < node.end; i++)
                    ASSERT_EQ(tree.bounds<pairwise::Squares>(number, tree.row(i)).least, 0);
                const double* const far = tree.row((node.end + 777) % tree.size());
                const auto [least, most] = tree.bounds<pairwise::Squares>(number, far);
                for (size_t i = node.begin; i < node.end; i++) {
                    const double distance = pairwise::sum_of<pairwise::Squares>(far, tree.row(i), 3);
                    ASSERT_LE(least, distance);
                    ASSERT_GE(most, distance);
                }
            } else {
                ASSERT_EQ(tree.node(node.children).begin, node.begin);
                ASSERT_EQ(tree.node(node.children).end, tree.node(node.children + 1).begin);
                ASSERT_EQ(tree.node(node.children + 1).end, node.end);
            }
        }
        EXPECT_EQ(leaves, tree.size());
    }
}

TEST(VarianceTree, NearestRows) {
    QuietContext context;
    ThreadTeam team(context);
    const VarianceTree tree(score_rows(2'000, 3, 2, context.memory(), {true, false, 0.1}), team, context);
    const auto compare = [&]<class Metric>(Metric) {
        for (size_t i = 0; i < tree.size(); i += 37) {
            double least = std::numeric_limits<double>::infinity();
            for (size_t j = 0; j < tree.size(); j++)
                if (j != i) least = std::min(least, pairwise::sum_of<Metric>(tree.row(i), tree.row(j), 3));
            EXPECT_EQ(pairwise::sum_of<Metric>(tree.row(i), tree.row(tree.nearest<Metric>(i)), 3), least);
        }
    };
    compare(pairwise::Squares());
    compare(pairwise::Absolutes());
}

TEST(OuterStrata, ArePartsOfAllRows) {
    QuietContext context(2);
    ThreadTeam team(context);
    const VarianceTree tree(score_rows(20'000, 2, 2, context.memory(), {true, true}), team, context);
    for (const ScoreKind kind : {ScoreKind::kde, ScoreKind::kr, ScoreKind::kcde}) {
        const OuterStrata strata = outer_strata(tree, kind, 64, 1, team, context);
        EXPECT_EQ(strata.count(), 64U);
        EXPECT_EQ(std::set<uint32_t>(strata.rows.begin(), strata.rows.end()).size(), tree.size());
    }
    // Extreme targets have strata of their own, of few rows.
    const OuterStrata strata = outer_strata(tree, ScoreKind::kr, 64, 1, team, context);
    double extreme = 0;
    size_t stratum = 0;
    for (size_t s = 0; s < strata.count(); s++)
        for (uint64_t i = strata.borders[s]; i < strata.borders[s + 1]; i++)
            if (const double y = std::abs(tree.target(strata.rows[i])); y > extreme) {
                extreme = y;
                stratum = s;
            }
    EXPECT_LE(strata.borders[stratum + 1] - strata.borders[stratum], 20U);
}

// Each of a few rows that are far from all others is much of a likelihood, and is certain to be drawn.
TEST(OuterStrata, RowsFarFromAllOthersAreDrawnToTheLast) {
    QuietContext context;
    ThreadTeam team(context);
    int far = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        ScoreRows rows(4, false, context.memory());
        RandomStream random(6, seed);
        for (size_t i = 0; i < 6'000; i++)
            for (size_t k = 0; k < 4; k++) rows.values.push_back((i < 5 ? 30 : 1) * btml::test::normal(random));
        const VarianceTree tree(std::move(rows), team, context);
        const OuterStrata strata = outer_strata(tree, ScoreKind::likelihood, 64, 1, team, context);
        for (size_t s = 0; s < strata.count(); s++)
            for (uint64_t i = strata.borders[s]; i < strata.borders[s + 1]; i++) {
                if (std::abs(tree.row(strata.rows[i])[0]) <= 15) continue;
                EXPECT_LE(strata.borders[s + 1] - strata.borders[s], StratifiedMean::min_draws);
                far++;
            }
    }
    EXPECT_GT(far, 8);
}

TEST(OuterStrata, EqualRowsAreOneStratum) {
    QuietContext context;
    ThreadTeam team(context);
    ScoreRows rows(2, false, context.memory());
    for (int i = 0; i < 200; i++) rows.values.push_back(1);
    const VarianceTree tree(std::move(rows), team, context);
    EXPECT_EQ(outer_strata(tree, ScoreKind::kde, 64, 1, team, context).count(), 1U);
}

struct Coverage {
    int missed = 0, sampled = 0;
};

// How often a sampled score misses the exact one by more than epsilon, over bandwidths and seeds.
Coverage coverage(ScoreKind kind, bool heavy, uint64_t seeds, Kernel kernel = {}) {
    QuietContext context(2);
    ThreadTeam team(context);
    const auto make = [&] { return score_rows(7'500, 2, 31, context.memory(), {true, heavy}); };
    ScoreOptions options;
    options.kernel = kernel;
    options.method = ScoreMethod::exact;
    Scores exact(make(), kind, options, context);
    options.method = ScoreMethod::sampled;
    Coverage coverage;
    const Bandwidths bandwidths{0.25, 0.5};
    const double truth = exact.estimate(bandwidths, team).value;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        options.sampling.seed = seed;
        const ScoreEstimate estimate = Scores(make(), kind, options, context).estimate(bandwidths, team);
        if (estimate.std_error > 0) coverage.sampled++;
        if (std::abs(estimate.value - truth) > options.sampling.epsilon * std::abs(truth)) coverage.missed++;
    }
    return coverage;
}

// Of 6 cases that miss with probability 0.05, more than 2 do with probability 0.002.
TEST(SampledScores, KeepToTheirError) {
    for (const ScoreKind kind : {ScoreKind::kde, ScoreKind::kr, ScoreKind::kcde, ScoreKind::likelihood})
        for (const bool heavy : {false, true}) {
            if (kind != ScoreKind::kr && !heavy) continue; // for time
            const Coverage result = coverage(kind, heavy, 6);
            EXPECT_LE(result.missed, 2);
            EXPECT_GE(result.sampled, 2);
        }
}

// Of up to 20 cases that miss with probability 0.05, more than 4 do with probability 0.003.
TEST(SampledScores, KeepToTheirErrorUnderEveryKernel) {
    for (const ScoreKind kind : {ScoreKind::kde, ScoreKind::kr, ScoreKind::kcde, ScoreKind::likelihood}) {
        Coverage all;
        for (const Kernel kernel : test::all_kernels) {
            if (kernel == Kernel{} || caught([&] { ScoreForm(kind, kernel, 2); }).thrown) continue;
            const Coverage result = coverage(kind, true, kind == ScoreKind::kde ? 6 : 4, kernel);
            EXPECT_GE(result.sampled, 1) << name_of(kind) << ' ' << facts_of(kernel).name;
            all.missed += result.missed;
        }
        EXPECT_LE(all.missed, 3) << name_of(kind);
    }
}

// A cancel does not wait for all rows to be divided, one split after another.
TEST(OuterStrata, StopWithinAPollsWork) {
    QuietContext quiet;
    ThreadTeam team(quiet);
    constexpr size_t rows = size_t{1} << 19;
    const VarianceTree tree(score_rows(rows, 1, 6, quiet.memory()), team, quiet);
    for (const ScoreKind kind : {ScoreKind::kr, ScoreKind::kde}) {
        const auto divide = [&](RunContext& context) {
            ThreadTeam own(context);
            outer_strata(tree, kind, 64, 1, own, context);
        };
        ImpatientContext counting;
        divide(counting);
        // Beside the items of the team, which make so many polls, each of the six levels of splits visits every row.
        constexpr uint64_t items = 353, levels = 6, work_of_visit = 4, work_per_poll = uint64_t{1} << 18;
        EXPECT_GE(counting.polls, items + levels * work_of_visit * rows / work_per_poll);
        for (uint64_t n = 0; n < counting.polls; n += 1 + counting.polls / 8) {
            ImpatientContext context(n);
            EXPECT_THROW(divide(context), Cancelled) << n << " of " << counting.polls << " polls";
        }
    }
}

// A few wrong targets among smooth ones: those of their neighbours that are predicted from them are as far off, and
// are found from the wrong ones, not by luck.
TEST(SampledScores, NeighboursOfExtremeTargetsAreNotMissed) {
    QuietContext context(2);
    ThreadTeam team(context);
    constexpr size_t dimensions = 6;
    const auto make = [&] {
        ScoreRows rows(dimensions, true, context.memory());
        RandomStream random(5, 1);
        for (size_t i = 0; i < 6'000; i++) {
            for (size_t k = 0; k < dimensions; k++) rows.values.push_back(random.unit());
            rows.values.push_back(i < 5 ? 30 : 0.2 * btml::test::normal(random));
        }
        return rows;
    };
    for (const double bandwidth : {0.02, 0.05}) {
        ScoreOptions options;
        options.method = ScoreMethod::exact;
        const double truth = Scores(make(), ScoreKind::kr, options, context).estimate({bandwidth, 0}, team).value;
        options.method = ScoreMethod::sampled;
        int missed = 0;
        for (uint64_t seed = 0; seed < 8; seed++) {
            options.sampling.seed = seed;
            const ScoreEstimate estimate =
                Scores(make(), ScoreKind::kr, options, context).estimate({bandwidth, 0}, team);
            missed += std::abs(estimate.value - truth) > options.sampling.epsilon * truth;
        }
        EXPECT_LE(missed, 1);
    }
}

// Rows whose nearest neighbours are far, of which bounds of nodes say little.
TEST(SampledScores, IsolatedRowsHaveTheirNearest) {
    QuietContext context(2);
    ThreadTeam team(context);
    constexpr size_t dimensions = 9;
    ScoreRows rows(dimensions, true, context.memory());
    RandomStream random(6, 1);
    for (int i = 0; i < 3'000; i++) {
        const double common = test::normal(random);
        for (size_t k = 0; k <= dimensions; k++) rows.values.push_back(std::exp(0.7 * (common + test::normal(random))));
    }
    const VarianceTree tree(std::move(rows), team, context);
    constexpr double bandwidth = 0.4;
    const GaussianScore score(tree, {bandwidth});
    Workspace<GaussianScore> work;
    double error = 0, sum = 0;
    size_t isolated = 0;
    for (size_t i = 0; i < tree.size(); i++) {
        double weights = 0, products = 0;
        for (size_t j = 0; j < tree.size(); j++) {
            const double distance = pairwise::sum_of<pairwise::Squares>(tree.row(i), tree.row(j), dimensions);
            const double weight = j == i ? 0 : std::exp(-distance / (2 * bandwidth * bandwidth));
            weights += weight, products += weight * tree.target(j);
        }
        if (!(weights > 0 && weights < 1e-3)) continue;
        const double residual = tree.target(i) - products / weights;
        isolated++;
        sum += residual * residual;
        sample_term(score, i, 0, 1, work);
        error += std::abs(term_of(score, work).value - residual * residual);
    }
    EXPECT_GT(isolated, 300U);
    EXPECT_LT(error, 0.02 * sum);
}

TEST(SampledScores, SameSeedSameBytesWhateverTheThreads) {
    QuietContext one(1), three(3);
    ThreadTeam alone(one), team(three);
    ScoreOptions options;
    options.method = ScoreMethod::sampled;
    const auto score = [&](QuietContext& context, ThreadTeam& threads, uint64_t seed) {
        options.sampling.seed = seed;
        return Scores(score_rows(20'000, 2, 4, context.memory()), ScoreKind::kr, options, context)
            .estimate({0.1}, threads)
            .value;
    };
    EXPECT_EQ(score(one, alone, 1), score(three, team, 1));
    EXPECT_NE(score(one, alone, 1), score(one, alone, 2));
}

// Whether sampling would cost more than summing all pairs is told by the pilot, not found out.
TEST(SampledScores, GiveUpAsSoonAsThePilotForetellsTheCost) {
    QuietContext context(2);
    ThreadTeam team(context);
    const VarianceTree tree(score_rows(11'000, 2, 6, context.memory()), team, context);
    const OuterStrata strata = outer_strata(tree, ScoreKind::kr, 64, 1, team, context);
    const GaussianScore score(tree, {0.2});
    MeanSampler<GaussianScore> loose(score, strata, {}, team);
    ASSERT_TRUE(loose.run());
    SamplingOptions options;
    options.epsilon = 0.001;
    MeanSampler<GaussianScore> strict(score, strata, options, team);
    const uint64_t pilot = loose.result().terms;
    EXPECT_FALSE(strict.run(4 * pilot));
    EXPECT_LE(strict.result().terms, pilot);
}

TEST(SampledScores, LeftToChooseSumExactlyWhatSamplingWouldNotMakeCheaper) {
    QuietContext context(2);
    ThreadTeam team(context);
    ScoreOptions options;
    Scores loose(score_rows(11'000, 2, 6, context.memory()), ScoreKind::kr, options, context);
    EXPECT_GT(loose.estimate({0.2}, team).std_error, 0);
    options.sampling.epsilon = 0.001;
    Scores strict(score_rows(11'000, 2, 6, context.memory()), ScoreKind::kr, options, context);
    const ScoreEstimate estimate = strict.estimate({0.2}, team);
    EXPECT_EQ(estimate.std_error, 0);
    EXPECT_EQ(estimate.evaluations, 11'000U * 10'999U);
}

TEST(SampledScores, ToleranceAndStandardError) {
    QuietContext context(2);
    ThreadTeam team(context);
    ScoreOptions options;
    options.method = ScoreMethod::sampled;
    options.sampling.epsilon = 0.03;
    const auto score = [&] {
        return Scores(score_rows(30'000, 2, 4, context.memory()), ScoreKind::kr, options, context)
            .estimate({0.1}, team);
    };
    const ScoreEstimate precise = score();
    EXPECT_LE(precise.std_error * 1.96, 0.03 * precise.value);
    EXPECT_NEAR(precise.upper - precise.lower, 2 * 1.959963984540054 * precise.std_error, 1e-12);
    options.sampling.tolerance = 0.2;
    const ScoreEstimate coarse = score();
    EXPECT_LT(coarse.evaluations, precise.evaluations);
    EXPECT_LE(coarse.std_error * 1.96, 0.2);
}

} // namespace
} // namespace btml::monte_carlo
