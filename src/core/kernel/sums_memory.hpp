// Forecasts what kernel sums will need of the memory budget, known from sizes before the work starts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace btml::kernel {

// keys may be merged to fewer; queries are those of one call; columns are those of the keys' values, and one more where
// their magnitudes are kept.
struct SumSizes {
    size_t keys, queries, dimensions, columns;
    bool means;
    int threads;
};

// Each in bytes, beyond what is held when the step starts; the points given are held by then. Keys far apart in
// bandwidths, whose coordinates are packed twice, take more.
uint64_t bytes_to_prepare(const SumSizes& sizes); // to merge, order and pack the keys
uint64_t bytes_to_sum_exactly(const SumSizes& sizes);
uint64_t bytes_to_sample(const SumSizes& sizes);

} // namespace btml::kernel
