// Every pair of a query and a key, in tiles.
#pragma once

#include "core/kernel/key_set.hpp"
#include "core/kernel/query_group.hpp"

namespace btml::kernel {

// sums[row·columns + c] = Σ_j value_jc·k, in the values' own units; groups of queries go through one part of the keys
// after another, which stays in the processor's cache.
Buffer<double> exact_sums(const KeySet& keys, const Points& queries, ThreadTeam& team, RunContext& context);

} // namespace btml::kernel
