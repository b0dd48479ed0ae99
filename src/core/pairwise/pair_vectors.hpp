// What files *_levels.cpp that sum up pairs in double have in common. Where sums are by lane of eight, they are so in
// parts: `parts` vectors hold them.
#pragma once

#include "core/base/level_vectors.hpp"
#include "core/pairwise/kernel_weight.hpp"
#include "core/pairwise/weights.hpp"

#include <cstring>

namespace btml::pairwise {

namespace BTML_LEVEL {

using btml::BTML_LEVEL::Bits;
using btml::BTML_LEVEL::Doubles;
using btml::BTML_LEVEL::width;
inline constexpr size_t parts = lanes / width;

// Vectors that are worked on side by side, so that one need not wait for another.
inline constexpr size_t vectors = 4;
static_assert(vectors * lanes == PointColumns::group);

[[gnu::always_inline]] inline Doubles load(const double* from) {
    Doubles to;
    std::memcpy(&to, from, sizeof(Doubles));
    return to;
}
[[gnu::always_inline]] inline void store(const Doubles& from, double* to) {
    std::memcpy(to, &from, sizeof(Doubles));
}

// Sums over the coordinates for one point and those from `other` on, side by side.
template <class Metric>
[[gnu::always_inline]] inline void find_sums(const PointColumns& points, size_t point, size_t other, Doubles* sums) {
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++) sums[v] = Doubles{};
    const double* column = points.values;
    for (size_t k = 0; k < points.dimensions; k++, column += points.padded) {
        const double of_point = column[point];
#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; v++)
            sums[v] = Metric::template add<VectorArithmetic<Doubles, Bits>>(sums[v], load(column + other + v * width) -
                                                                                         of_point);
    }
}

} // namespace BTML_LEVEL

} // namespace btml::pairwise
