// The metric of held-out rows that training logs, and may stop by.
#pragma once

#include "core/base/options_table.hpp"
#include "core/base/run_context.hpp"
#include "core/boosting/objectives/objective.hpp"

namespace btml::boosting {

// What metrics are called elsewhere, for hints.
inline constexpr OtherNames foreign_metrics[] = {
    {"rmse", {"mse", "l2", "l2_root", "mean_squared_error", "root_mean_squared_error"}},
    {"mae", {"l1", "mean_absolute_error"}},
    {"pinball", {"quantile", "mean_pinball_loss"}},
    {"poisson_deviance", {"poisson", "poisson-nloglik", "mean_poisson_deviance"}},
    {"log_loss", {"logloss", "mlogloss", "binary_logloss", "multi_logloss", "cross_entropy", "neg_log_loss"}},
    {"brier", {"brier_score", "brier_score_loss"}},
    {"accuracy", {"acc", "accuracy_score", "error", "binary_error", "merror", "multi_error"}},
    {"auc", {"roc_auc", "roc_auc_score", "auroc"}},
    {"average_precision", {"aucpr", "auprc", "pr_auc", "average_precision_score"}},
    {"ndcg", {"ndcg_score"}},
};

// Say whether a value is better than another.
bool is_better(HoldoutMetric metric, double value, double than);

// Error invalid_argument where the objective has no such metric, naming those that it has. called: what the error names
// where no trees have that objective, as in: family 'poisson'.
void check_metric(HoldoutMetric metric, ObjectiveNumber objective, const std::string& called = {});

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
