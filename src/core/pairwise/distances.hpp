// Finds distances of rows and points, several pairs at a time.
#pragma once

#include "core/base/levels.hpp"

#include <cstddef>

namespace btml::pairwise {

inline constexpr size_t tile_rows = 16, group_points = 8;

// Sums squared or absolute differences over coordinates, for tiles of sixteen rows and for eight points. Rows come in
// tiles: coordinate f of row i is tiles[(i / 16 * width + f) * 16 + i % 16]; of point c: points[f * 8 + c]. The sum for
// row i of tile t and point c goes to to[c * stride + 16 t + i], for first ≤ t < last.
struct TileSums {
    const float* tiles;
    size_t width, first, last;
    const float* points;
    float* to;
    size_t stride;
};

BTML_DISPATCH(void, sum_squares, (const TileSums& sums), (sums));
BTML_DISPATCH(void, sum_absolutes, (const TileSums& sums), (sums));

} // namespace btml::pairwise
