// What a set of exemplars is worth on rows that had no part in choosing it.
#pragma once

#include "core/exemplar/stream_greedy.hpp"

namespace btml::exemplar {

// `input.validation` is a uniform sample of `rows` rows, or all of them; then the standard error is 0.
Selection evaluate(const ObjectiveInput& input, const PointSet& exemplars, uint64_t rows, ThreadTeam& team,
                   RunContext& context);

} // namespace btml::exemplar
