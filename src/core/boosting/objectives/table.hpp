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

} // namespace btml::boosting
