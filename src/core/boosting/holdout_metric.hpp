// The metric of held-out rows that training logs, and may stop by.
#pragma once

#include "core/base/run_context.hpp"
#include "core/boosting/objectives/objective.hpp"

namespace btml::boosting {

// Say whether a value is better than another.
bool is_better(HoldoutMetric metric, double value, double than);

// Error invalid_argument where the objective has no such metric, naming those that it has.
void check_metric(HoldoutMetric metric, ObjectiveNumber objective);

// Returns the metric of the rows that are held out, of which there are so many. Error invalid_argument where it is not
// defined for them, as auc is not where all have one label; out_of_range: overflow.
double holdout_metric(HoldoutMetric metric, const RowScores& scores, uint64_t rows, double alpha, RunContext& context);

// Returns the metric of rows that are predicted one by one, nothing where it is not defined for them. The metric is not
// ndcg. Error out_of_range: overflow, or a number that the metric does not take.
std::optional<double> metric_of(HoldoutMetric metric, std::span<const HeldOutRow> rows, double alpha,
                                RunContext& context);

// Returns the metric nearest to the loss: of rank nothing, since it takes more than the rows' own predictions.
std::optional<HoldoutMetric> usual_metric(ObjectiveNumber objective);

// Returns the bytes that it takes for each row.
inline uint64_t metric_row_bytes(const std::optional<HoldoutMetric>& metric) {
    return metric == HoldoutMetric::auc || metric == HoldoutMetric::average_precision ? 3 * sizeof(double) : 0;
}

} // namespace btml::boosting
