#include "core/validation/race.hpp"

#include "core/base/error.hpp"
#include "core/base/timing.hpp"
#include "core/numbers/sample_mean.hpp"
#include "core/validation/scorer.hpp"

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
    Race(Scorer& scorer, size_t trials, size_t folds, bool scores_withheld, RunContext& context)
        : scorer_(scorer), context_(context), scores_withheld_(scores_withheld), trials_(trials) {
        for (size_t trial = 0; trial < trials; trial++) left_.push_back(trial);
        stages_ = stages_of(trials, folds, scorer.has_trees());
    }

    std::vector<TrialResult> run() {
        const std::vector<double> ends = expected_ends();
        for (size_t stage = 0; stage < stages_.size(); stage++) {
            const Share share(context_, stage == 0 ? 0 : ends[stage - 1], ends[stage]);
            run(stages_[stage]);
        }
        std::vector<TrialResult> results = scores();
        if (!scores_withheld_) return results;
        const Share share(context_, ends.back(), 1);
        score_withheld(results[left_.front()]);
        return results;
    }

  private:
    struct Trial {
        std::vector<Curve> curves; // of the first folds
        Best best;
        double share = 0, seconds = 0;
    };

    void run(const Stage& stage) {
        double all = 0, before = 0;
        for (const size_t trial : left_) all += scorer_.work(trial);
        for (size_t i = 0; i < left_.size(); i++) {
            const double after = before + scorer_.work(left_[i]);
            const Share share(context_, before / all, after / all);
            train(left_[i], stage, format("trial %zu of %zu, ", i + 1, left_.size()));
            before = after;
        }
        sort();
        left_.resize(kept(left_.size(), stage));
    }

    static size_t kept(size_t trials, const Stage& stage) {
        return std::min(trials, std::max(min_kept, (trials + stage.kept - 1) / stage.kept));
    }

    // Returns the part of all work that is done at the end of each stage, as if all trials took the same.
    std::vector<double> expected_ends() const {
        std::vector<double> ends;
        double all = 0, known = 0; // folds times shares of trees, of all trials and of one
        size_t trials = trials_.size();
        for (size_t i = 0; i < stages_.size(); i++) {
            const Stage& stage = stages_[i];
            const bool goes_on = i > 0 && stages_[i - 1].share == stage.share && scorer_.folds_are_apart(0);
            const double work = static_cast<double>(stage.folds) * stage.share;
            all += static_cast<double>(trials) * (work - (goes_on ? known : 0));
            known = work;
            ends.push_back(all);
            trials = kept(trials, stage);
        }
        if (scores_withheld_) all += 1;
        for (double& end : ends) end /= all;
        return ends;
    }

    std::vector<TrialResult> scores() const {
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
        return results;
    }

    void score_withheld(TrialResult& result) {
        const size_t best = left_.front();
        const Stopwatch watch(result.seconds);
        result.withheld = scorer_.withheld_score(best, trials_[best].best.trees);
    }

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
    RunContext& context_;
    const bool scores_withheld_;
    std::vector<Stage> stages_;
    std::vector<Trial> trials_;
    std::vector<size_t> left_; // in the race; sorted, the best first
};

} // namespace

std::vector<TrialResult> race(Scorer& scorer, size_t trials, size_t folds, bool score_withheld, RunContext& context) {
    return Race(scorer, trials, folds, score_withheld, context).run();
}

Best best_of_mean(const std::vector<Curve>& curves, const Scorer& scorer) {
    Best best;
    for (size_t i = 0; i < curves.front().values.size(); i++) {
        double sum = 0;
        for (const Curve& curve : curves) sum += curve.values[i];
        const double mean = sum / static_cast<double>(curves.size());
        if (best.trees > 0 && !scorer.is_better(mean, best.mean)) continue;
        best.trees = i + 1;
        best.mean = mean;
    }
    for (const Curve& curve : curves) best.values.push_back(curve.values[best.trees - 1]);
    return best;
}

} // namespace btml::validation
