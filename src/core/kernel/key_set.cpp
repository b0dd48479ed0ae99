#include "core/kernel/key_set.hpp"

#include <algorithm>
#include <cmath>

namespace btml::kernel {

static std::vector<double> largest_magnitudes(const KeySet& keys) {
    std::vector<double> largest(keys.columns(), 0.0);
    for (size_t i = 0; i < keys.rows(); i++)
        for (size_t c = 0; c < keys.columns(); c++)
            largest[c] = std::max(largest[c], std::abs(keys.value(static_cast<uint32_t>(i), c)));
    // Targets share one, so that their errors add up.
    const size_t columns = keys.distinct.columns;
    if (columns > 1) {
        const double of_targets =
            *std::max_element(largest.begin() + 1, largest.begin() + static_cast<std::ptrdiff_t>(columns));
        std::fill(largest.begin() + 1, largest.begin() + static_cast<std::ptrdiff_t>(columns), of_targets);
    }
    for (double& x : largest)
        if (x == 0) x = 1;
    return largest;
}

KeySet::KeySet(DistinctKeys distinct_keys, bool with_magnitudes, ThreadTeam& team, RunContext& context)
    : distinct(std::move(distinct_keys)),
      magnitudes(with_magnitudes),
      tree(distinct.points, block_keys, {}, team, context),
      blocks(
          distinct.frame, distinct.points, tree.leaves(), [this](size_t leaf) { return tree.keys(leaf); },
          Precision::full, team, context.memory()),
      values(
          tree.leaves(), columns(), [this](size_t leaf) { return tree.keys(leaf); },
          [this](uint32_t key, size_t column) { return value(key, column); }, largest_magnitudes(*this), team,
          context.memory()) {}

} // namespace btml::kernel
