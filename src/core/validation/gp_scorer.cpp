#include "core/validation/gp_scorer.hpp"

#include "core/boosting/objectives/holdout_metric.hpp"
#include "core/gp/fit.hpp"
#include "core/gp/gp_predictor.hpp"
#include "core/numbers/exact_sum.hpp"

namespace btml::validation {

using boosting::HeldOutRow;
using boosting::HoldoutMetric;

namespace {

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
    : RefitScorer(std::move(dataset), folds, context), trials_(std::move(trials)), metric_(metric) {
    for (const gp::Options& options : trials_) options.validate();
}

double GpScorer::score(const Buffer<uint8_t>& roles, size_t trial, RunContext& context) {
    RowsApart apart(dataset_, roles, context);
    gp::FitResult fitted = gp::fit(apart.take(), trials_[trial], context);
    const Buffer<uint32_t>& rows = apart.scored();
    const Reservation held(context.memory(), "predictions of a fold", rows.size() * sizeof(HeldOutRow));
    std::vector<HeldOutRow> scored;
    scored.reserve(rows.size());
    const RowIds ids = dataset_.target_ids();
    gp::Predictor::for_each_point(
        fitted.model, rows.size(), [&](size_t i, std::span<double> features) { apart.read_point(rows[i], features); },
        [&](size_t i, gp::Predictor& predictor, std::span<const double> features) {
            const double target = dataset_.target[ids[rows[i]]], weight = dataset_.weight_of(rows[i]);
            const gp::Predictor::Score found = predictor.score(features, target);
            const double prediction = metric_ == GpMetric::mean_nll ? -found.log_density : found.mean;
            scored.push_back({target, prediction, weight, false});
        },
        context);
    if (metric_ == GpMetric::mean_nll) return weighted_mean(scored);
    return *metric_of(metric_ == GpMetric::mae ? HoldoutMetric::mae : HoldoutMetric::rmse, scored, 0, context);
}

} // namespace btml::validation
