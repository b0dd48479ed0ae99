// Makes standard normal numbers from counters.
#pragma once

#include "core/numbers/rng.hpp"

#include <cmath>
#include <numbers>

namespace btml::gp {

// Two independent ones for each pair of counters (Box, Muller: A Note on the Generation of Random Normal Deviates,
// 1958), of which number `counter` takes the first if it is even.
inline double random_normal(uint64_t seed, uint64_t stream, uint64_t counter) {
    const double radius = std::sqrt(-2 * std::log1p(-random_unit(seed, stream, counter | 1)));
    const double angle = 2 * std::numbers::pi * random_unit(seed, stream, counter & ~uint64_t{1});
    return radius * (counter % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

} // namespace btml::gp
