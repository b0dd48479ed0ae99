// Measures what a set of exemplars is worth on rows that had no part in choosing it.
#pragma once

#include "core/exemplar/stream_greedy.hpp"

namespace btml::exemplar {

// `input.validation` has the points of `sample`, of rows whose weights add up to `weight`; where it has all of them,
// the standard error is 0, and where one sampled row alone counts it is NaN.
Selection evaluate(const ObjectiveInput& input, const PointSet& exemplars, const Reservoir& sample, double weight,
                   ThreadTeam& team, RunContext& context);

} // namespace btml::exemplar
