#include "core/validation/boosted_scorer.hpp"

#include "core/boosting/growing/training_memory.hpp"
#include "core/boosting/rows/row_hash.hpp"

#include <cmath>

namespace btml::validation {

using boosting::BinnedData;
using boosting::Training;
using boosting::TrainingRows;

BoostedScorer::BoostedScorer(Dataset dataset, const Folds& folds, std::vector<boosting::Options> trials,
                             RunContext& context)
    : context_(context), team_(context), dataset_(std::move(dataset)), folds_(folds), trials_(std::move(trials)) {
    for (const boosting::Options& options : trials_) boosting::check_options(dataset_, options);
    require_memory();
    if (boosting::objective_of(trials_.front().objective).ranks)
        dataset_.row_hashes =
            boosting::hash_rows(dataset_, static_cast<uint64_t>(trials_.front().seed), team_, context_);
    bin();
}

// Counts bins for each max_bins, and the trainings that go on side by side.
void BoostedScorer::require_memory() {
    uint64_t bytes = 0;
    for (const boosting::Options& options : trials_) {
        const auto parallel = static_cast<uint64_t>(options.early_stopping > 0 ? folds_.size() : 1);
        bytes = std::max(bytes, boosting::training_bytes(dataset_, options, parallel, team_.size(), context_));
    }
    const std::set<int> max_bins = distinct_max_bins();
    for (auto other = max_bins.begin(); other != max_bins.end() && std::next(other) != max_bins.end(); ++other)
        bytes += boosting::binned_bytes(dataset_, *other);
    context_.memory().require(bytes, "binned features, and the scores of folds");
}

std::set<int> BoostedScorer::distinct_max_bins() const {
    std::set<int> max_bins;
    for (const boosting::Options& options : trials_) max_bins.insert(options.max_bins);
    return max_bins;
}

void BoostedScorer::bin() {
    const std::set<int> max_bins = distinct_max_bins();
    Dataset roles = with_roles(folds_.final_roles(false, context_));
    const TrainingRows training(roles, team_, context_);
    for (const int count : max_bins) {
        const bool is_last = count == *max_bins.rbegin();
        bins_.emplace(count, boosting::bin_features(dataset_, training, count, team_, context_, !is_last));
    }
    findings_ = boosting::examine(bins_.begin()->second, roles, training, context_);
}

Dataset BoostedScorer::with_roles(Buffer<uint8_t> roles) {
    Dataset dataset = dataset_.copy_of_targets(context_);
    dataset.hold_out(std::move(roles));
    return dataset;
}

// Returns how many folds grow at a time beside bins, which are there: enough to keep all threads busy, but no more than
// half of what memory is left has room for.
size_t BoostedScorer::side_by_side(const boosting::Options& options) const {
    if (team_.size() == 1) return 1;
    const auto bytes = [&](uint64_t parallel) {
        return boosting::training_bytes(dataset_, options, parallel, team_.size(), context_);
    };
    size_t parallel = std::min(folds_.size(), 4 * static_cast<size_t>(team_.size()));
    while (parallel > 1 && bytes(parallel) > context_.memory().left() / 2) parallel--;
    return parallel;
}

std::vector<Curve> BoostedScorer::curves(size_t trial, size_t begin, size_t end, double share,
                                         const std::string& phase) {
    boosting::Options options = trials_[trial];
    options.trees = std::max(1, static_cast<int>(std::ceil(options.trees * share)));
    const int early_stopping = std::exchange(options.early_stopping, 0);
    const size_t patience = static_cast<size_t>(early_stopping > 0 ? early_stopping : options.trees);
    const size_t most = early_stopping > 0 ? end - begin : side_by_side(options);
    std::vector<Curve> curves;
    for (size_t first = begin; first < end; first += most) {
        const size_t count = std::min(most, end - first);
        const auto part = static_cast<double>(end - begin);
        const Share of_folds(context_, static_cast<double>(first - begin) / part,
                             static_cast<double>(first + count - begin) / part);
        const std::string shown =
            phase + (count == 1 ? format("fold %zu of %zu", first + 1, folds_.size())
                                : format("folds %zu to %zu of %zu", first + 1, first + count, folds_.size()));
        boosting::FoldTrainings trainings(
            count, [&](size_t fold) { return with_roles(folds_.roles(first + fold, context_)); }, options,
            bins_.at(options.max_bins), shown.c_str(), team_, context_, std::span(folds_.names).subspan(first, count));
        trainings.best_iterations({.patience = patience, .first = 1});
        for (size_t fold = 0; fold < count; fold++) {
            Curve& curve = curves.emplace_back(Curve{{}, trainings.seconds(fold)});
            for (size_t i = 0; i < trainings.compared(); i++)
                curve.values.push_back(trainings.model(fold).log[i].value());
        }
    }
    return curves;
}

double BoostedScorer::withheld_score(size_t trial, size_t trees) {
    boosting::Options options = trials_[trial];
    options.early_stopping = 0;
    options.trees = static_cast<int>(trees);
    Training training(with_roles(folds_.final_roles(true, context_)), bins_.at(options.max_bins), options, team_,
                      context_, "scoring the best");
    training.grow(trees);
    return training.log().back().value();
}

} // namespace btml::validation
