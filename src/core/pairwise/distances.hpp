// Finds distances and covariances of rows and points, several pairs at a time.
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

// Computes to[i * 8 + c] = signal · exp(−½ Σ_f (rows[i * width + f] − points[f * 8 + c])²) for i < count.
struct Covariances {
    const double* rows;
    size_t count, width;
    const double* points;
    double signal;
    double* to;
};
BTML_DISPATCH(void, find_covariances, (const Covariances& covariances), (covariances));

// Computes to[f] = Σ weights[i * 8 + c] (rows[i * width + f] − points[f * 8 + c])² over i < count and c.
struct WeightedSquares {
    const double* rows;
    size_t count, width;
    const double *points, *weights;
    double* to;
};
BTML_DISPATCH(void, sum_weighted_squares, (const WeightedSquares& squares), (squares));

} // namespace btml::pairwise
