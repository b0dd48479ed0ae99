#include "core/validation/linear_scorer.hpp"

#include "core/linear/linear_fit.hpp"
#include "core/linear/linear_predictor.hpp"

namespace btml::validation {

LinearScorer::LinearScorer(Dataset dataset, const Folds& folds, std::vector<linear::Options> trials,
                           boosting::HoldoutMetric metric, RunContext& context)
    : RefitScorer(std::move(dataset), folds, context), trials_(std::move(trials)), metric_(metric) {
    for (const linear::Options& options : trials_) options.validate();
}

double LinearScorer::score(const Buffer<uint8_t>& roles, size_t trial, RunContext& context) {
    RowsApart apart(dataset_, roles, context);
    const linear::FitResult fitted = linear::fit(apart.take(), trials_[trial], context);
    linear::Predictor predict(fitted.model);
    const Buffer<uint32_t>& rows = apart.scored();
    const Reservation held(context.memory(), "predictions of a fold", rows.size() * sizeof(boosting::HeldOutRow));
    std::vector<boosting::HeldOutRow> scored;
    scored.reserve(rows.size());
    const RowIds ids = dataset_.target_ids();
    std::vector<double> point(fitted.model.features.size());
    context.for_each(rows.size(), 1 + point.size(), [&](uint64_t i) {
        apart.read_point(rows[i], point);
        const double target = dataset_.target[ids[rows[i]]], prediction = predict(point);
        scored.push_back({target, prediction, dataset_.weight_of(rows[i]), (prediction > 0.5) == (target > 0.5)});
    });
    return metric_of(metric_, scored, 0, context).value();
}

} // namespace btml::validation
