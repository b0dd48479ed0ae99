// The metric of held-out rows that training logs, and may stop by.
#pragma once

#include "core/base/options_table.hpp"
#include "core/base/run_context.hpp"
#include "core/boosting/objectives/objective.hpp"

namespace btml::boosting {

// What metrics are called elsewhere, for hints.
inline constexpr ForeignName foreign_metrics[] = {
    {"mse", "rmse"},
    {"l2", "rmse"},
    {"l2_root", "rmse"},
    {"mean_squared_error", "rmse"},
    {"root_mean_squared_error", "rmse"},
    {"l1", "mae"},
    {"mean_absolute_error", "mae"},
    {"quantile", "pinball"},
    {"mean_pinball_loss", "pinball"},
    {"poisson", "poisson_deviance"},
    {"poisson-nloglik", "poisson_deviance"},
    {"mean_poisson_deviance", "poisson_deviance"},
    {"logloss", "log_loss"},
    {"mlogloss", "log_loss"},
    {"binary_logloss", "log_loss"},
    {"multi_logloss", "log_loss"},
    {"cross_entropy", "log_loss"},
    {"neg_log_loss", "log_loss"},
    {"brier_score", "brier"},
    {"brier_score_loss", "brier"},
    {"acc", "accuracy"},
    {"accuracy_score", "accuracy"},
    {"error", "accuracy"},
    {"binary_error", "accuracy"},
    {"merror", "accuracy"},
    {"multi_error", "accuracy"},
    {"roc_auc", "auc"},
    {"roc_auc_score", "auc"},
    {"auroc", "auc"},
    {"aucpr", "average_precision"},
    {"auprc", "average_precision"},
    {"pr_auc", "average_precision"},
    {"average_precision_score", "average_precision"},
    {"ndcg_score", "ndcg"},
};

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
