// Keeps a number in the upper half of its bits: as a bfloat16.
#pragma once

#include "core/base/levels.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace btml::gp {

// Returns the nearest one, even where two are as near.
inline uint16_t upper_half(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

inline float from_upper_half(uint16_t half) {
    return std::bit_cast<float>(uint32_t{half} << 16);
}

// Adds near · upper[s] + far · lower[s] to each of the sums.
BTML_DISPATCH(void, add_deviations,
              (const uint16_t* upper, const uint16_t* lower, float near, float far, size_t count, float* sums),
              (upper, lower, near, far, count, sums));

} // namespace btml::gp
