// What is odd in the columns of a training set, and would better be known before a model is trusted.
#pragma once

#include "core/boosting/binning/binning.hpp"
#include "core/boosting/trees/boosting_model.hpp"

namespace btml::boosting {

struct Findings {
    std::optional<double> constant_target; // the number that all rows to train on have
    // Names of columns that alone, or by one element, explain the target, and of features that have another value in
    // every row, that are texts of at least half as many values as rows, or that have one value in all rows.
    std::vector<std::string> explaining, identifying, nearly_identifying, constant;
};

inline constexpr uint64_t max_sample_of_findings = 200'000;

// Looks at the rows to train on, of which there must be 100 for anything to be found.
//
// A feature explains the target where, by means of up to 256 ranges of its values (one for three rows of a number), R²
// is above 0.999, adjusted for the number of ranges; of two labels, of which each has 10 rows at least, where AUC is,
// each row's forecast being that of the others of its range; of more, where their Gini impurity falls by that part. It
// is estimated from max_sample_of_findings random rows at most. Features of more categories are not looked at. A
// feature identifies rows where it is an integer or a text, not NULL, and no two rows have the same.
Findings examine(const BinnedData& data, const Dataset& dataset, const TrainingRows& training, RunContext& context);

// Says whether the loss of held-out rows is greater than that of the best constant, by more than chance explains and
// by half a percent at least. Of ranks nothing is said.
//
// Where scores s away from the constant say nothing of the target, the loss is greater by h·s²/2 with a standard error
// of s·√(v/n), h being the loss's mean second derivative at the constant, v the variance of its first, and n the rows.
// It is greater by more than two standard errors from 8·v/(h·n) on. v/h is 1 for log loss, counts and durations, and
// nearly twice the constant's loss for losses in units of the target.
bool is_worse_than_constant(const Model& model);

} // namespace btml::boosting
