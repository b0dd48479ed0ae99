// The objectives that there are, one of each.
#pragma once

#include "core/boosting/objectives/objective.hpp"

namespace btml::boosting {

const Objective& squared_objective();
const Objective& absolute_objective();
const Objective& huber_objective();
const Objective& quantile_objective();
const Objective& poisson_objective();
const Objective& gamma_objective();
const Objective& tweedie_objective();
const Objective& binary_objective();
const Objective& multiclass_objective();
const Objective& rank_objective();

// Scores of squared loss for targets of which few are far from all others. They start from the median, a leaf's value
// comes from its rows as doubles, and splits see a far residual as a smaller one, so that others lose no precision.
std::unique_ptr<RowScores> squared_beside_far_targets(const TrainingRows& training, Buffer<double> target,
                                                      const std::vector<double>& bases, ThreadTeam& team,
                                                      RunContext& context);

} // namespace btml::boosting
