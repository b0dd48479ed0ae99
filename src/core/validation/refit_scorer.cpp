#include "core/validation/refit_scorer.hpp"

#include "core/base/timing.hpp"
#include "core/boosting/fold_trainings.hpp"

namespace btml::validation {

using boosting::Role;

namespace {

Buffer<uint32_t> rows_of(const Dataset& dataset, const Buffer<uint8_t>& roles, Role role, RunContext& context) {
    Buffer<uint32_t> rows(context.memory(), "rows of a fold");
    context.for_each(dataset.rows, 1, [&](uint64_t row) {
        if (static_cast<Role>(roles[row]) == role && dataset.weight_of(row) > 0)
            rows.push_back(static_cast<uint32_t>(row));
    });
    return rows;
}

template <class T>
Buffer<T> pick(const Buffer<T>& column, RowIds ids, const Buffer<uint32_t>& rows, RunContext& context) {
    Buffer<T> picked(context.memory(), "columns of a fold", rows.size());
    context.for_each(rows.size(), 4, [&](uint64_t i) { picked[i] = column[ids[rows[i]]]; });
    return picked;
}

// Drops the categories that no row has, as the rows would be read by themselves.
std::vector<double> renumber(FeatureColumn& column, const std::vector<std::string>& categories, RunContext& context) {
    std::vector<double> codes(categories.size(), -1);
    context.for_each(column.codes.size(), 1, [&](uint64_t row) {
        if (column.codes[row] != FeatureColumn::null_code) codes[column.codes[row]] = 0;
    });
    for (size_t code = 0; code < codes.size(); code++) {
        if (codes[code] < 0) continue;
        codes[code] = static_cast<double>(column.categories.size());
        column.categories.push_back(categories[code]);
    }
    context.for_each(column.codes.size(), 1, [&](uint64_t row) {
        uint32_t& code = column.codes[row];
        if (code != FeatureColumn::null_code) code = static_cast<uint32_t>(codes[code]);
    });
    return codes;
}

} // namespace

RowsApart::RowsApart(const Dataset& dataset, const Buffer<uint8_t>& roles, RunContext& context)
    : dataset_(dataset), subset_(context.memory(), 0), scored_(rows_of(dataset, roles, Role::holdout, context)) {
    const Buffer<uint32_t> rows = rows_of(dataset, roles, Role::train, context);
    subset_.rows = rows.size();
    subset_.labels = dataset.labels;
    subset_.add_table(rows.size());
    subset_.target = pick(dataset.target, dataset.target_ids(), rows, context);
    if (!dataset.weight.empty()) subset_.weight = pick(dataset.weight, dataset.target_ids(), rows, context);
    if (dataset.offset) {
        subset_.offset.emplace(context.memory(), *dataset.offset, 0);
        subset_.offset->numbers = pick(dataset.offset->numbers, dataset.target_ids(), rows, context);
    }
    for (const FeatureColumn& feature : dataset.features) {
        const RowIds ids = dataset.ids_of(feature);
        FeatureColumn column(context.memory(), feature.without_categories(), 0, feature.direction);
        if (!feature.categorical)
            column.numbers = pick(feature.numbers, ids, rows, context);
        else
            column.codes = pick(feature.codes, ids, rows, context);
        codes_.push_back(renumber(column, feature.categories, context));
        subset_.features.push_back(std::move(column));
    }
}

void RowsApart::read_point(size_t row, std::span<double> point) const {
    if (dataset_.offset) point.back() = dataset_.offset->numbers[dataset_.target_ids()[row]];
    for (size_t f = 0; f < dataset_.features.size(); f++) {
        const FeatureColumn& feature = dataset_.features[f];
        const size_t at = dataset_.ids_of(feature)[row];
        if (!feature.categorical)
            point[f] = feature.numbers[at];
        else
            point[f] = feature.codes[at] == FeatureColumn::null_code ? null_number : codes_[f][feature.codes[at]];
    }
}

double RefitScorer::score_in(const Buffer<uint8_t>& roles, size_t trial, const std::string& phase) {
    std::atomic<bool> stop{false};
    WorkerContext inner(&context_, stop, context_.memory(), context_.threads(), phase);
    return score(roles, trial, inner);
}

std::vector<Curve> RefitScorer::curves(size_t trial, size_t begin, size_t end, double, const std::string& phase) {
    std::vector<Curve> curves;
    for (size_t fold = begin; fold < end; fold++) {
        const std::string shown = format("%sfold %zu of %zu", phase.c_str(), fold + 1, folds_.size());
        const auto share_of_fold = Share::of(context_, fold - begin, end - begin);
        Curve curve;
        {
            const Stopwatch watch(curve.seconds);
            curve.values.push_back(boosting::in_fold(
                folds_.names[fold], [&] { return score_in(folds_.roles(fold, context_), trial, shown); }));
        }
        curves.push_back(std::move(curve));
    }
    return curves;
}

double RefitScorer::withheld_score(size_t trial, size_t) {
    return score_in(folds_.final_roles(true, context_), trial, "scoring the best");
}

} // namespace btml::validation
