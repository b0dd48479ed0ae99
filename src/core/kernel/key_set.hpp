// The keys of sums: equal ones merged, in the leaves of a tree, packed.
#pragma once

#include "core/kernel/key_blocks.hpp"
#include "core/kernel/key_tree.hpp"

#include <cmath>

namespace btml::kernel {

// Keys as the sums see them: in their frame, equal ones merged.
struct DistinctKeys {
    Frame frame;
    Points points; // in the frame's coordinates, in an order that depends on the set of keys alone
    size_t columns;
    Buffer<double> values; // row by row, summed over equal keys; no row is all 0
    double norm;           // √Σ of the squares of column 0 before equal keys were merged

    size_t rows() const noexcept { return points.rows(); }
};

// The keys' rows in an order that depends on the set of keys alone.
Buffer<uint32_t> canonical_order(const Keys& keys, RunContext& context);

// Takes the keys, at least one. Errors as of Frame.
DistinctKeys merge_equal_keys(Keys keys, const Options& options, RunContext& context);

// The distinct keys, ready for sums.
struct KeySet {
    // Takes at least one distinct key. With `magnitudes`, the magnitudes of column 0 are a further column.
    KeySet(DistinctKeys distinct_keys, bool magnitudes, ThreadTeam& team, RunContext& context);
    KeySet(const KeySet&) = delete;
    KeySet& operator=(const KeySet&) = delete;

    size_t rows() const noexcept { return distinct.rows(); }
    size_t columns() const noexcept { return distinct.columns + magnitudes; }
    double value(uint32_t key, size_t column) const noexcept {
        const double* const of_key = &distinct.values[key * distinct.columns];
        return column < distinct.columns ? of_key[column] : std::abs(of_key[0]);
    }

    DistinctKeys distinct;
    bool magnitudes;
    KeyTree tree;
    KeyBlocks blocks; // the tree's leaves
    BlockValues values;
};

} // namespace btml::kernel
