#include "core/validation/race.hpp"

#include "core/base/error.hpp"
#include "core/base/sample_mean.hpp"
#include "core/base/timing.hpp"

#include <algorithm>

namespace btml::validation {

namespace {

struct Stage {
    size_t folds;
    double share; // of the trees
    size_t kept;  // one of so many
};

constexpr size_t min_kept = 3;

// A stage that tells as much as the one before it is left out.
std::vector<Stage> stages_of(size_t trials, size_t folds, bool has_trees) {
    const size_t third = (folds + 2) / 3;
    std::vector<Stage> stages;
    if (trials > min_kept) {
        if (has_trees) stages.push_back({third, 0.5, 2});
        if (third < folds) stages.push_back({third, 1, 3});
    }
    stages.push_back({folds, 1, 1});
    return stages;
}

class Race {
  public:
    Race(Scorer& scorer, size_t trials, size_t folds) : scorer_(scorer), folds_(folds), trials_(trials) {
        for (size_t trial = 0; trial < trials; trial++) left_.push_back(trial);
    }

    void run() {
        const std::vector<Stage> stages = stages_of(trials_.size(), folds_, scorer_.has_trees());
        for (size_t stage = 0; stage < stages.size(); stage++) {
            for (size_t i = 0; i < left_.size(); i++)
                train(left_[i], stages[stage], format("trial %zu of %zu, ", i + 1, left_.size()));
            sort();
            const size_t kept = (left_.size() + stages[stage].kept - 1) / stages[stage].kept;
            left_.resize(std::min(left_.size(), std::max(min_kept, kept)));
        }
    }

    std::vector<TrialResult> results(bool score_withheld) {
        const size_t best = left_.front();
        std::vector<TrialResult> results;
        for (size_t trial = 0; trial < trials_.size(); trial++) {
            const Trial& of = trials_[trial];
            results.push_back({of.best.mean,
                               std_error(trial, best),
                               {},
                               scorer_.has_trees() ? of.best.trees : 0,
                               of.curves.size(),
                               of.seconds,
                               trial == best});
        }
        if (!score_withheld) return results;
        const Stopwatch watch(results[best].seconds);
        results[best].withheld = scorer_.withheld_score(best, trials_[best].best.trees);
        return results;
    }

  private:
    struct Trial {
        std::vector<Curve> curves; // of the first folds
        Best best;
        double share = 0, seconds = 0;
    };

    void train(size_t number, const Stage& stage, const std::string& phase) {
        Trial& trial = trials_[number];
        const Stopwatch watch(trial.seconds);
        if (trial.share != stage.share || !scorer_.folds_are_apart(number)) trial.curves.clear();
        trial.share = stage.share;
        std::vector<Curve> more = scorer_.curves(number, trial.curves.size(), stage.folds, stage.share, phase);
        std::move(more.begin(), more.end(), std::back_inserter(trial.curves));
        trial.best = best_of_mean(trial.curves, scorer_);
    }

    void sort() {
        std::sort(left_.begin(), left_.end(), [&](size_t a, size_t b) {
            const double x = trials_[a].best.mean, y = trials_[b].best.mean;
            return scorer_.is_better(x, y) || (x == y && a < b);
        });
    }

    std::optional<double> std_error(size_t trial, size_t best) const {
        const std::vector<double>& own = trials_[trial].best.values;
        const std::vector<double>& other = trials_[best].best.values;
        SampleMean difference;
        for (size_t fold = 0; fold < own.size(); fold++)
            difference.add(trial == best ? own[fold] : own[fold] - other[fold]);
        return difference.std_error();
    }

    Scorer& scorer_;
    const size_t folds_;
    std::vector<Trial> trials_;
    std::vector<size_t> left_; // in the race; sorted, the best first
};

} // namespace

std::vector<TrialResult> race(Scorer& scorer, size_t trials, size_t folds, bool score_withheld) {
    Race race(scorer, trials, folds);
    race.run();
    return race.results(score_withheld);
}

} // namespace btml::validation
