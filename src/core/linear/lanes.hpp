// Sums that are formed side by side, in parts whose number follows from what is summed alone: so do their bits.
#pragma once

#include "core/base/worker_contexts.hpp"
#include "core/linear/likelihood.hpp"

#include <functional>

namespace btml::linear {

// Returns the sum of what add(begin, end, sums, context) adds for parts of the items from `begin` to `end`. size: of
// slopes, and of the matrix where there is one.
LikelihoodSums
sums_in_lanes(uint64_t begin, uint64_t end, size_t size, bool has_matrix, ThreadTeam& team, RunContext& context,
              const std::function<void(uint64_t begin, uint64_t end, LikelihoodSums& sums, RunContext& context)>& add);

} // namespace btml::linear
