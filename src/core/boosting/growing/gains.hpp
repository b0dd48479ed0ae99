// Gains of many splits of a node side by side, to see which of them are worth a look.
#pragma once

#include "core/base/levels.hpp"

#include <cstddef>
#include <cstdint>

namespace btml::boosting {

inline constexpr size_t gain_block = 256; // splits, a multiple of any level's width

// Says which splits of a node are admissible and what they gain, as SplitRules does without a penalty l1.
struct GainRules {
    int64_t sum, hessian, count;           // of the node
    int64_t min_hessian, min_count;        // on either side of a split; at least one row
    double hessian_unit, l2, lower, upper; // the last two are bounds of values
};

// Holds the sums on the left of some splits, and what they gain.
struct GainBlock {
    size_t splits = 0;
    alignas(64) int64_t sums[gain_block], hessians[gain_block], counts[gain_block];
    alignas(64) double gains[gain_block];
};

// Sets the gains, but for the last digits; −1 of splits that are not admissible, infinity where a value is out of
// bounds, whose gain is not worked out. Returns the largest of the others, at least 0.
BTML_DISPATCH(double, find_gains, (const GainRules& rules, GainBlock& block), (rules, block));

} // namespace btml::boosting
