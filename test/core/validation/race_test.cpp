// The race over made-up curves, against its rules written down plainly.
#include "core/validation/race.hpp"

#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace btml::validation {
namespace {

// A trial's value in a fold: its own level, what the fold adds, and noise, falling with the trees.
class MadeUp : public Scorer {
  public:
    MadeUp(size_t trials, bool higher_is_better, bool trees, bool apart, uint64_t seed, double noise)
        : sign_(higher_is_better ? -1 : 1), trees_(trees), apart_(apart), seed_(seed), noise_(noise) {
        for (size_t trial = 0; trial < trials; trial++) level_.push_back(random_unit(seed, 1, trial));
        trained.assign(trials, {});
    }

    double value(size_t trial, size_t fold, size_t trees) const {
        const double best = 20 + static_cast<double>(trial % 5); // number of trees
        const double more = trees_ ? std::abs(static_cast<double>(trees) - best) / 100 : 0;
        return sign_ *
               (level_[trial] + more + random_unit(seed_, 2, fold) + noise_ * random_unit(seed_, 3 + fold, trial));
    }
    std::vector<Curve> curves(size_t trial, size_t begin, size_t end, double share, const std::string&) override {
        std::vector<Curve> curves;
        for (size_t fold = begin; fold < end; fold++) {
            Curve curve;
            const size_t trees = trees_ ? static_cast<size_t>(40 * share) : 1;
            for (size_t t = 1; t <= trees; t++) curve.values.push_back(value(trial, fold, t));
            curves.push_back(curve);
            trained[trial].push_back({fold, trees});
        }
        return curves;
    }
    bool folds_are_apart(size_t) const override { return apart_; }
    bool has_trees() const override { return trees_; }
    double withheld_score(size_t trial, size_t trees) override { return static_cast<double>(1000 * trial + trees); }
    bool is_better(double value, double than) const override { return sign_ * value < sign_ * than; }

    std::vector<std::vector<std::pair<size_t, size_t>>> trained; // by trial: folds and trees

  private:
    const double sign_;
    const bool trees_, apart_;
    const uint64_t seed_;
    const double noise_;
    std::vector<double> level_;
};

double mean_of(const MadeUp& scorer, size_t trial, size_t folds, size_t trees) {
    double sum = 0;
    for (size_t fold = 0; fold < folds; fold++) sum += scorer.value(trial, fold, trees);
    return sum / static_cast<double>(folds);
}

TEST(Race, FindsTheBestWhereFoldsTellNoLies) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 40; seed++) {
        const size_t trials = 1 + seed, folds = 1 + seed % 6;
        const bool higher = seed % 2, trees = seed % 3 != 0;
        MadeUp scorer(trials, higher, trees, seed % 4 != 0, seed, 0);
        const std::vector<TrialResult> results = race(scorer, trials, folds, true, context);
        size_t best = 0;
        const auto at_best = [&](size_t trial) { return mean_of(scorer, trial, folds, trees ? 20 + trial % 5 : 1); };
        for (size_t trial = 1; trial < trials; trial++)
            if (scorer.is_better(at_best(trial), at_best(best))) best = trial;
        size_t winners = 0;
        for (size_t trial = 0; trial < trials; trial++) {
            winners += results[trial].is_best;
            EXPECT_EQ(results[trial].withheld.has_value(), results[trial].is_best);
        }
        EXPECT_EQ(winners, 1u);
        const TrialResult& found = results[best];
        ASSERT_TRUE(found.is_best) << seed;
        EXPECT_EQ(found.folds, folds);
        EXPECT_EQ(found.trees, trees ? 20 + best % 5 : 0);
        EXPECT_NEAR(found.score, at_best(best), 1e-12);
        EXPECT_EQ(*found.withheld, static_cast<double>(1000 * best + (trees ? found.trees : 1)));
        EXPECT_EQ(found.std_error.has_value(), folds > 1);
    }
}

TEST(Race, TrainsWhatItsStagesSay) {
    QuietContext context;
    MadeUp scorer(50, false, true, true, 7, 0.2);
    const std::vector<TrialResult> results = race(scorer, 50, 5, false, context);
    size_t stages[3] = {};
    for (size_t trial = 0; trial < 50; trial++) {
        const auto& trained = scorer.trained[trial];
        using Trained = std::vector<std::pair<size_t, size_t>>;
        Trained expected = {{0, 20}, {1, 20}};
        if (trained.size() > 2) expected.insert(expected.end(), {{0, 40}, {1, 40}});
        if (trained.size() > 4) expected.insert(expected.end(), {{2, 40}, {3, 40}, {4, 40}});
        EXPECT_EQ(trained, expected);
        stages[trained.size() > 4 ? 2 : trained.size() > 2]++;
        EXPECT_EQ(results[trial].folds, trained.size() > 4 ? 5u : 2u);
    }
    EXPECT_EQ(stages[0], 25u);
    EXPECT_EQ(stages[1], 16u);
    EXPECT_EQ(stages[2], 9u);
}

TEST(Race, TrainsFoldsThatDependOnEachOtherTogether) {
    QuietContext context;
    MadeUp scorer(4, false, true, false, 7, 0.2);
    race(scorer, 4, 5, false, context);
    int together = 0;
    for (const auto& trained : scorer.trained) {
        if (trained.size() <= 4) continue;
        for (size_t fold = 0; fold < 5; fold++)
            EXPECT_EQ(trained[trained.size() - 5 + fold], std::pair(fold, size_t{40}));
        together++;
    }
    EXPECT_GT(together, 0);
}

// The race says which part is done by what it has yet to do; here every trial is as much work as it expects.
TEST(Race, ProgressIsTheWorkDone) {
    for (int way = 0; way < 12; way++) {
        const bool trees = way % 2, apart = way % 3 != 0, withheld = way / 6;
        QuietContext context;
        class Watched : public MadeUp {
          public:
            Watched(RunContext& context, bool trees, bool apart)
                : MadeUp(20, false, trees, apart, 7, 0.2), context_(context) {}
            std::vector<Curve> curves(size_t trial, size_t begin, size_t end, double share,
                                      const std::string& phase) override {
                context_.reached(0);
                seen.emplace_back(context_.fraction(), work);
                work += static_cast<double>(end - begin) * share;
                return MadeUp::curves(trial, begin, end, share, phase);
            }
            double withheld_score(size_t, size_t) override {
                context_.reached(0);
                seen.emplace_back(context_.fraction(), work);
                work += 1;
                return 0;
            }

            std::vector<std::pair<double, double>> seen; // fraction and folds of all trees, before each training
            double work = 0;

          private:
            RunContext& context_;
        } scorer(context, trees, apart);
        race(scorer, 20, 5, withheld, context);
        ASSERT_GT(scorer.seen.size(), 20u);
        for (const auto& [fraction, work] : scorer.seen) EXPECT_NEAR(fraction, work / scorer.work, 1e-12) << way;
    }
}

TEST(Race, StandardErrorsArePaired) {
    QuietContext context;
    constexpr size_t trials = 3, folds = 6;
    MadeUp scorer(trials, false, false, true, 11, 0.3);
    const std::vector<TrialResult> results = race(scorer, trials, folds, false, context);
    size_t best = 0;
    while (!results[best].is_best) best++;
    for (size_t trial = 0; trial < trials; trial++) {
        double sum = 0, squares = 0;
        for (size_t fold = 0; fold < folds; fold++) {
            const double x = scorer.value(trial, fold, 1) - (trial == best ? 0 : scorer.value(best, fold, 1));
            sum += x;
            squares += x * x;
        }
        const double variance = (squares - sum * sum / folds) / (folds - 1);
        EXPECT_NEAR(*results[trial].std_error, std::sqrt(variance / folds), 1e-12);
    }
}

TEST(Race, TheFirstOfEqualsIsTheBest) {
    QuietContext context;
    class Equal : public MadeUp {
      public:
        Equal() : MadeUp(9, false, false, true, 1, 0) {}
        std::vector<Curve> curves(size_t, size_t begin, size_t end, double, const std::string&) override {
            return std::vector<Curve>(end - begin, Curve{{1.5}, 0});
        }
    } scorer;
    const std::vector<TrialResult> results = race(scorer, 9, 4, false, context);
    EXPECT_TRUE(results[0].is_best);
    EXPECT_EQ(results[0].std_error, 0.0);
}

} // namespace
} // namespace btml::validation
