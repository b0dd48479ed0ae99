#include "core/validation/boosted_scorer.hpp"

#include "core/boosting/growing/training_memory.hpp"
#include "core/boosting/rows/row_hash.hpp"

#include <cmath>
#include <deque>

namespace btml::validation {

using boosting::BinnedData;
using boosting::LogEntry;
using boosting::Options;
using boosting::Training;
using boosting::TrainingRows;

namespace {

template <class T>
Buffer<T> copy_of(const Buffer<T>& from, RunContext& context) {
    Buffer<T> copy(context.memory(), from.what(), from.size());
    context.in_blocks(from.size(), 1, [&](uint64_t begin, uint64_t end) {
        std::copy(from.begin() + begin, from.begin() + end, copy.begin() + begin);
    });
    return copy;
}

FeatureColumn without_rows(const FeatureColumn& column, RunContext& context) {
    return {column.name,
            column.type,
            column.kind,
            column.table,
            Buffer<double>(context.memory(), "features"),
            Buffer<uint32_t>(context.memory(), "features"),
            {},
            column.direction};
}

std::string fold_phase(const std::string& phase, size_t fold, size_t folds) {
    return format("%sfold %zu of %zu", phase.c_str(), fold + 1, folds);
}

double value_of(const LogEntry& entry) {
    return *entry.holdout_metric;
}

} // namespace

BoostedScorer::BoostedScorer(Dataset dataset, const Folds& folds, std::vector<Options> trials, RunContext& context)
    : context_(context), team_(context), dataset_(std::move(dataset)), folds_(folds), trials_(std::move(trials)) {
    for (const Options& options : trials_) boosting::check_options(dataset_, options);
    require_memory();
    if (trials_.front().objective == boosting::ObjectiveNumber::rank)
        dataset_.row_hashes =
            boosting::hash_rows(dataset_, static_cast<uint64_t>(trials_.front().seed), team_, context_);
    bin();
}

// Counts bins for each max_bins, and the trainings that go on side by side.
void BoostedScorer::require_memory() {
    uint64_t bytes = 0;
    for (const Options& options : trials_) {
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
    for (const Options& options : trials_) max_bins.insert(options.max_bins);
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

// The rows' targets and what goes with them; bins have the features.
Dataset BoostedScorer::with_roles(Buffer<uint8_t> roles) {
    Dataset view{.rows = dataset_.rows,
                 .tables = {},
                 .features = {},
                 .target_table = dataset_.target_table,
                 .target = copy_of(dataset_.target, context_),
                 .weight = copy_of(dataset_.weight, context_),
                 .holdout_table = static_cast<int>(dataset_.tables.size()),
                 .holdout = std::move(roles),
                 .labels = dataset_.labels,
                 .label_weights = dataset_.label_weights};
    const auto no_ids = [&] { return Buffer<uint32_t>(context_.memory(), "row ids"); };
    for (const DataTable& table : dataset_.tables) view.tables.push_back({table.rows, no_ids(), table.ids()});
    view.tables.push_back({dataset_.rows, no_ids()}); // of roles
    for (const FeatureColumn& column : dataset_.features) view.features.push_back(without_rows(column, context_));
    if (dataset_.offset) {
        view.offset = without_rows(*dataset_.offset, context_);
        view.offset->numbers = copy_of(dataset_.offset->numbers, context_);
    }
    if (dataset_.query) view.query = copy_of(*dataset_.query, context_);
    if (dataset_.row_hashes) view.row_hashes = copy_of(*dataset_.row_hashes, context_);
    return view;
}

std::unique_ptr<Training> BoostedScorer::start(const Options& options, Buffer<uint8_t> roles, const char* phase,
                                               int parallel) {
    return std::make_unique<Training>(with_roles(std::move(roles)), bins_.at(options.max_bins), options, team_,
                                      context_, phase, parallel);
}

Curve BoostedScorer::curve(size_t fold, const Options& options, const std::string& phase) {
    const std::string shown = fold_phase(phase, fold, folds_.size());
    Curve curve;
    in_fold(folds_.names[fold], [&] {
        const Stopwatch watch(curve.seconds);
        const auto training = start(options, folds_.roles(fold, context_), shown.c_str(), 1);
        training->grow(static_cast<size_t>(options.trees));
        for (const LogEntry& entry : training->log()) curve.values.push_back(value_of(entry));
    });
    return curve;
}

std::vector<Curve> BoostedScorer::side_by_side(size_t begin, size_t end, int patience, const Options& options,
                                               const std::string& phase) {
    std::vector<Curve> curves(end - begin);
    std::vector<std::unique_ptr<Training>> trainings;
    std::deque<std::string> phases;
    const auto for_each_fold = [&](const auto& body) {
        for (size_t fold = begin; fold < end; fold++) {
            const Stopwatch watch(curves[fold - begin].seconds);
            in_fold(folds_.names[fold], [&] { body(fold); });
        }
    };
    for_each_fold([&](size_t fold) {
        phases.push_back(fold_phase(phase, fold, folds_.size()));
        trainings.push_back(start(options, folds_.roles(fold, context_), phases.back().c_str(),
                                  static_cast<int>(end - begin - trainings.size())));
    });
    size_t best = 0;
    double best_mean = 0;
    const auto most = static_cast<size_t>(options.trees);
    for (size_t trees = 1; trees <= most; trees++) {
        const auto share = Share::of(context_, trees - 1, most);
        double sum = 0;
        for_each_fold([&](size_t fold) {
            const auto share_of_fold = Share::of(context_, fold - begin, curves.size());
            Training& training = *trainings[fold - begin];
            training.grow(trees);
            curves[fold - begin].values.push_back(value_of(training.log()[trees - 1]));
            sum += curves[fold - begin].values.back();
        });
        const double mean = sum / static_cast<double>(curves.size());
        if (best == 0 || is_better(mean, best_mean)) {
            best = trees;
            best_mean = mean;
        }
        if (trees - best >= static_cast<size_t>(patience)) break;
    }
    return curves;
}

std::vector<Curve> BoostedScorer::curves(size_t trial, size_t begin, size_t end, double share,
                                         const std::string& phase) {
    Options options = trials_[trial];
    options.trees = std::max(1, static_cast<int>(std::ceil(options.trees * share)));
    const int patience = std::exchange(options.early_stopping, 0);
    if (patience > 0) return side_by_side(begin, end, patience, options, phase);
    std::vector<Curve> curves;
    for (size_t fold = begin; fold < end; fold++) {
        const auto share_of_fold = Share::of(context_, fold - begin, end - begin);
        curves.push_back(curve(fold, options, phase));
    }
    return curves;
}

double BoostedScorer::withheld_score(size_t trial, size_t trees) {
    Options options = trials_[trial];
    options.early_stopping = 0;
    options.trees = static_cast<int>(trees);
    const auto training = start(options, folds_.final_roles(true, context_), "scoring the best", 1);
    training->grow(trees);
    return value_of(training->log().back());
}

} // namespace btml::validation
