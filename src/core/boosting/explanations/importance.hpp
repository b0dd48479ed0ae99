// How much features matter to a model's scores over many rows.
#pragma once

#include "core/boosting/explanations/explainer.hpp"
#include "core/numbers/number.hpp"

namespace btml::boosting {

// Holds how large the contributions to rows of a group of features are in magnitude, over all scores together.
struct ContributionSize {
    double mean;                     // over the rows of the sample
    std::optional<double> std_error; // of the mean as an estimate of that over all rows; 0 where these are all of them,
                                     // nothing where one row is to speak for others
};

// Returns the size of each group's contributions, which add up within it, over rows, at least one, which lie in
// `points` one after the other; they are a sample without replacement of `of_rows`. Errors as of
// Explainer::contributions.
std::vector<ContributionSize> contribution_sizes(Explainer& explainer, std::span<const FeatureGroup> groups,
                                                 std::span<const double> points, WideCount of_rows,
                                                 RunContext& context);

} // namespace btml::boosting
