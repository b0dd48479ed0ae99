// Training: Gaussian process regression over rows of a join.
#pragma once

#include "core/base/timing.hpp"
#include "core/data/dataset.hpp"
#include "core/gp/gp_model.hpp"

namespace btml::gp {

struct FitResult {
    Model model;
    std::vector<Timing> timings;
    std::vector<std::string> warnings; // what the user should know although it is no error
};

// Returns what a model will know of the dataset's columns.
std::vector<Feature> features_of(const Dataset& dataset);

// Fills in all of the model but target, strategy and the rows skipped, which the caller knows. The dataset is consumed.
// The same dataset up to the order of its rows gives the same model to the last bit, whatever context.threads() is.
//
// Targets are standardised by their weighted mean and their variance Σw(y − mean)²/Σw · n/(n − 1). An observation of
// weight w has noise variance λ/w; a learned λ is at least the mean weight over n, 1/n without weights. Members differ
// by random shifts of their grid, all but the first; a mixture weighs them by e^(−100 · NLL per row) (Binary Tree
// Gaussian Processes). Leave-one-out scores are exact, and count each row once whatever its weight.
//
// Errors: invalid_argument (options; no features; no rows to train on; a weight out of range), out_of_range (a target
// of 1e150 or more in magnitude), limit_exceeded (more bits than max_levels), memory_limit before the work starts.
FitResult fit(Dataset dataset, const Options& options, RunContext& context);

// Each member as a model of its own, in their order; options.combine does not matter.
std::vector<FitResult> fit_members(Dataset dataset, const Options& options, RunContext& context);

} // namespace btml::gp
