// Vectors as wide as a level's registers, for files *_levels.cpp. Wider ones are compared, and chosen from, number by
// number.
#pragma once

#include "core/base/levels.hpp"

#include <cstddef>
#include <cstdint>

namespace btml::BTML_LEVEL {

#if defined(__AVX512F__)
inline constexpr size_t width = 8;
#elif defined(__AVX2__)
inline constexpr size_t width = 4;
#else
inline constexpr size_t width = 2;
#endif
using Doubles [[gnu::vector_size(width * sizeof(double))]] = double;
using Integers [[gnu::vector_size(width * sizeof(int64_t))]] = int64_t;
using Bits [[gnu::vector_size(width * sizeof(uint64_t))]] = uint64_t;

// Sets doubles to the integers, rounded to the nearest. Where the processor has no instruction for it, the upper and
// the lower half of an integer become the last digits of a power of two each, which is taken away again: the first of
// these is exact.
[[gnu::always_inline]] inline void to_doubles(const Integers& integers, Doubles& doubles) {
#ifdef __AVX512DQ__
    doubles = __builtin_convertvector(integers, Doubles);
#else
    constexpr uint64_t two_52 = 0x4330'0000'0000'0000, two_84_and_63 = 0x4530'0000'8000'0000;
    const Bits bits = reinterpret_cast<Bits>(integers);
    const Bits low = (bits & 0xffff'ffff) | two_52, high = bits >> 32 ^ two_84_and_63;
    doubles = reinterpret_cast<Doubles>(high) - (0x1p84 + 0x1p63 + 0x1p52) + reinterpret_cast<Doubles>(low);
#endif
}

} // namespace btml::BTML_LEVEL
