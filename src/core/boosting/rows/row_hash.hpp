// A number of each row that follows from its content alone, however the join is held.
#pragma once

#include "core/base/threads.hpp"
#include "core/data/dataset.hpp"

namespace btml::boosting {

// Hashes of the rows' features, targets, weights and queries, one for each row of the join. Rows that differ may have
// the same: of 10 million, two do with probability 3e-6. What goes by hashes then depends on the order of those two.
Buffer<uint64_t> hash_rows(const Dataset& dataset, uint64_t seed, ThreadTeam& team, RunContext& context);

} // namespace btml::boosting
