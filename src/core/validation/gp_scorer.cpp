#include "core/validation/gp_scorer.hpp"

#include "core/base/worker_contexts.hpp"
#include "core/boosting/fold_trainings.hpp"
#include "core/boosting/objectives/holdout_metric.hpp"
#include "core/gp/fit.hpp"
#include "core/gp/gp_predictor.hpp"
#include "core/numbers/exact_sum.hpp"

namespace btml::validation {

using boosting::HeldOutRow;
using boosting::HoldoutMetric;
using boosting::Role;

namespace {

// The codes that categories of some rows have among themselves, by feature and code of the whole: −1 where none of the
// rows has it.
using CodesByFeature = std::vector<std::vector<double>>;

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

// Returns some rows of the join, each with its own columns.
Dataset subset_of(const Dataset& dataset, const Buffer<uint32_t>& rows, CodesByFeature& codes, RunContext& context) {
    Dataset subset(context.memory(), rows.size());
    subset.add_table(rows.size());
    subset.target = pick(dataset.target, dataset.target_ids(), rows, context);
    if (!dataset.weight.empty()) subset.weight = pick(dataset.weight, dataset.target_ids(), rows, context);
    for (const FeatureColumn& feature : dataset.features) {
        const RowIds ids = dataset.ids_of(feature);
        FeatureColumn column(context.memory(), {feature.name, feature.type, feature.categorical, {}}, 0,
                             feature.direction);
        if (!feature.categorical)
            column.numbers = pick(feature.numbers, ids, rows, context);
        else
            column.codes = pick(feature.codes, ids, rows, context);
        codes.push_back(renumber(column, feature.categories, context));
        subset.features.push_back(std::move(column));
    }
    return subset;
}

void read_point(const Dataset& dataset, const CodesByFeature& codes, size_t row, std::span<double> point) {
    for (size_t f = 0; f < point.size(); f++) {
        const FeatureColumn& feature = dataset.features[f];
        const size_t at = dataset.ids_of(feature)[row];
        if (!feature.categorical)
            point[f] = feature.numbers[at];
        else
            point[f] = feature.codes[at] == FeatureColumn::null_code ? null_number : codes[f][feature.codes[at]];
    }
}

double weighted_mean(std::span<const HeldOutRow> rows) {
    ExactSum sum, weights;
    for (const HeldOutRow& row : rows) {
        sum.add(row.weight * row.prediction);
        weights.add(row.weight);
    }
    return sum.value() / weights.value();
}

} // namespace

GpScorer::GpScorer(Dataset dataset, const Folds& folds, std::vector<gp::Options> trials, GpMetric metric,
                   RunContext& context)
    : context_(context), dataset_(std::move(dataset)), folds_(folds), trials_(std::move(trials)), metric_(metric) {
    for (const gp::Options& options : trials_) options.validate();
}

double GpScorer::score(const Buffer<uint8_t>& roles, size_t trial, const std::string& phase) {
    CodesByFeature codes;
    Dataset train = subset_of(dataset_, rows_of(dataset_, roles, Role::train, context_), codes, context_);
    std::atomic<bool> stop{false};
    WorkerContext inner(&context_, stop, context_.memory(), context_.threads(), phase);
    gp::FitResult fitted = gp::fit(std::move(train), trials_[trial], inner);
    const Buffer<uint32_t> rows = rows_of(dataset_, roles, Role::holdout, inner);
    const Reservation held(inner.memory(), "predictions of a fold", rows.size() * sizeof(HeldOutRow));
    std::vector<HeldOutRow> scored;
    scored.reserve(rows.size());
    const RowIds ids = dataset_.target_ids();
    gp::Predictor::for_each_point(
        fitted.model, rows.size(),
        [&](size_t i, std::span<double> features) { read_point(dataset_, codes, rows[i], features); },
        [&](size_t i, gp::Predictor& predictor, std::span<const double> features) {
            const double target = dataset_.target[ids[rows[i]]], weight = dataset_.weight_of(rows[i]);
            const gp::Predictor::Score found = predictor.score(features, target);
            const double prediction = metric_ == GpMetric::mean_nll ? -found.log_density : found.mean;
            scored.push_back({target, prediction, weight, false});
        },
        inner);
    if (metric_ == GpMetric::mean_nll) return weighted_mean(scored);
    return *metric_of(metric_ == GpMetric::mae ? HoldoutMetric::mae : HoldoutMetric::rmse, scored, 0, inner);
}

std::vector<Curve> GpScorer::curves(size_t trial, size_t begin, size_t end, double, const std::string& phase) {
    std::vector<Curve> curves;
    for (size_t fold = begin; fold < end; fold++) {
        const std::string shown = format("%sfold %zu of %zu", phase.c_str(), fold + 1, folds_.size());
        const auto share_of_fold = Share::of(context_, fold - begin, end - begin);
        Curve curve;
        {
            const Stopwatch watch(curve.seconds);
            curve.values.push_back(boosting::in_fold(
                folds_.names[fold], [&] { return score(folds_.roles(fold, context_), trial, shown); }));
        }
        curves.push_back(std::move(curve));
    }
    return curves;
}

double GpScorer::withheld_score(size_t trial, size_t) {
    return score(folds_.final_roles(true, context_), trial, "scoring the best");
}

} // namespace btml::validation
