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

} // namespace btml::BTML_LEVEL
