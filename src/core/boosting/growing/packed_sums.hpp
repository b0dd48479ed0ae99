// Sums of residuals, and of how many rows they are of, in one word each: one addition does both, and twice as many sums
// stay in the processor's inner cache.
#pragma once

#include "core/base/levels.hpp"
#include "core/boosting/rows/stats.hpp"

namespace btml::boosting {

// Says how residuals and counts share a word: the sum, which may be negative, has the bits below count_bit, the count
// those above.
struct Packing {
    // For residuals below 2^residual_bits in magnitude. Those with so many bits that sums would have to be unpacked
    // after every few rows are not packed.
    explicit Packing(int residual_bits) {
        constexpr int min_row_bits = 11, max_row_bits = 16;
        const int free_bits = (62 - residual_bits) / 2, row_bits = free_bits < max_row_bits ? free_bits : max_row_bits;
        if (row_bits < min_row_bits) return;
        max_rows = size_t{1} << row_bits;
        count_bit = 63 - row_bits;
    }

    size_t max_rows = 0; // of one sum; 0: none, as residuals are too large
    int count_bit = 0;
    // Returns what a row adds.
    int64_t one_row() const { return int64_t{1} << count_bit; }
};

// Adds packed sums to `to`, whose hessians are counts, and clears them.
BTML_DISPATCH(void, unpack_sums, (int count_bit, size_t count, int64_t* packed, Stats* to),
              (count_bit, count, packed, to));

} // namespace btml::boosting
