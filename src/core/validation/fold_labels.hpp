// Checks that folds have the labels that it takes to train without them, and to score them.
#pragma once

#include "core/boosting/objectives/holdout_metric.hpp"
#include "core/validation/folds.hpp"

namespace btml::validation {

using LoneLabels = std::vector<std::pair<std::string, std::string>>; // labels with their folds

// Returns the labels that only one fold has, in the order of their codes: the model that scores them there has never
// seen them. Nothing where the target is a number. Errors invalid_argument naming the fold: of two labels, one that
// leaves rows of one label to train on; one whose rows auc or average_precision is not defined for.
LoneLabels check_labels(const Dataset& dataset, const Folds& folds, boosting::HoldoutMetric metric,
                        RunContext& context);

} // namespace btml::validation
