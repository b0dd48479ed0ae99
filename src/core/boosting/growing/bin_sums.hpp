// Adds each row's sums to those of its bins.
#pragma once

#include "core/base/levels.hpp"
#include "core/boosting/rows/stats.hpp"

namespace btml::boosting {

// Sums of neighbouring features are so far apart: not a multiple of 4 kB, or stores would seem to collide with loads.
inline constexpr size_t bin_stride = 260;

// Some rows of a table, with the bins of neighbouring features.
struct BinnedRows {
    const uint32_t* ids; // the rows; null: begin, begin + 1, …
    size_t begin, count;
    const void* bins;     // of all rows of the table, those of a row side by side
    size_t bytes;         // of a bin
    size_t width;         // bins of a row; 1 where a bin has more than one byte
    const uint8_t* slots; // features to sum up, ascending, of `width`
    size_t features;      // how many slots
};

// Adds block[i] to sums[slot · bin_stride + the bin of row i] for each of the slots.
BTML_DISPATCH(void, add_to_bins, (const BinnedRows& rows, const Stats* block, Stats* sums), (rows, block, sums));
BTML_DISPATCH(void, add_to_bins, (const BinnedRows& rows, const NodeSums* block, NodeSums* sums), (rows, block, sums));

} // namespace btml::boosting
