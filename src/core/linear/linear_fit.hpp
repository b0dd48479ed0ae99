// Training: generalised linear models over rows of a join.
#pragma once

#include "core/base/timing.hpp"
#include "core/data/dataset.hpp"
#include "core/linear/linear_model.hpp"
#include "core/relational/join/join_dataset.hpp"

namespace btml::linear {

struct FitResult {
    Model model;
    std::vector<Timing> timings;
    std::vector<std::string> warnings; // what the user should know although it is no error
};

// Says that no finite coefficients fit the rows, or that none were found. It is an error of its own: an
// aggregate over such rows has no model, where a fit of a source fails.
class NoCoefficients : public Error {
  public:
    explicit NoCoefficients(std::string message, std::string detail = {}, std::string hint = {})
        : Error(ErrorCode::invalid_argument, std::move(message), std::move(detail), std::move(hint)) {}
};

// Fills in all of the model but target, strategy and the rows skipped, which the caller knows. The dataset is consumed.
// The same dataset up to the order of its rows gives the same model to the last bit, whatever context.threads() is.
//
// The least of Σ w·deviance/(2 Σ w) + penalty·(l1_ratio·Σ|β| + (1 − l1_ratio)/2·Σβ²) is found, where β is in units of
// the standard deviation of numbers, and the intercept costs nothing (glmnet's objective). Without a penalty, columns
// that follow from those before them are dropped. Weights are R's: a variance is over the weight, and the degrees of
// freedom count rows. A boolean target has the labels false and true. The categories of dataset.divider are the
// clusters of robust errors. dataset.offset is added to scores, and is the last feature of the model.
//
// Errors: invalid_argument (options; no features; more than two labels), wrong_type (a family that the target's labels
// do not go with), NoCoefficients (a target of one value or that the features separate; no convergence; a penalty that
// is too small for features that follow from each other), NothingToTrainOn,
// out_of_range (a target that the family cannot have; a feature, weight or target that is not finite or 1e150 or more),
// null_value (a cluster or an offset of NULL), limit_exceeded (more columns than max_columns), memory_limit.
FitResult fit(Dataset dataset, const Options& options, RunContext& context);

// Does the same of the rows of a join by queries over its tables, which are consumed: at the tables' cost, whatever the
// number of rows. The model is that of the rows up to rounding. For a gaussian with errors of the model alone.
FitResult fit_factorised(relational::Join join, const relational::DatasetPlan& plan, const Options& options,
                         RunContext& context);

} // namespace btml::linear
