// All that sums need of the keys.
#pragma once

#include "core/kernel/distinct_keys.hpp"
#include "core/kernel/key_blocks.hpp"
#include "core/kernel/key_tree.hpp"

#include <cmath>

namespace btml::kernel {

struct KeySet {
    // At least one distinct key. With `magnitudes`, the magnitudes of column 0 are a further column.
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
