// Keys as the sums see them: in their frame, equal ones merged.
#pragma once

#include "core/base/threads.hpp"
#include "core/kernel/frame.hpp"

namespace btml::kernel {

struct DistinctKeys {
    Frame frame;
    Points points; // in the frame's coordinates, in an order that depends on the set of keys alone
    size_t columns;
    Buffer<double> values; // row by row, summed over equal keys; no row is all 0
    double norm;           // √Σ of the squares of column 0 before equal keys were merged

    size_t rows() const noexcept { return points.rows(); }
};

// The keys' rows in an order that depends on the set of keys alone.
Buffer<uint32_t> canonical_order(const Keys& keys, ThreadTeam& team, RunContext& context);

// Takes the keys, at least one. Errors as of Frame.
DistinctKeys merge_equal_keys(Keys keys, const Options& options, ThreadTeam& team, RunContext& context);

} // namespace btml::kernel
