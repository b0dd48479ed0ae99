// Finds the weights exp(−c·(|x_i − x_j|² − origin)) of a point with all others, which lie column by column.
#pragma once

#include "core/base/levels.hpp"
#include "core/pairwise/exponential.hpp"

#include <cstddef>

namespace btml::pairwise {

// Numbers of points are multiples of `group`: what pads them has infinite coordinates and the target 0. The targets are
// the column after the coordinates.
struct PointColumns {
    static constexpr size_t group = 32;

    const double* values;
    size_t padded, dimensions;

    const double* column(size_t k) const { return values + k * padded; }
    const double* targets() const { return column(dimensions); }
};

// Holds sums by lane.
struct LaneTotals {
    Lanes first{}, second{};
};

// Add to the totals over the points begin ≤ j < end but i: Σ weight with Σ weight·target, or with Σ weight².
BTML_DISPATCH(void, add_regression,
              (const PointColumns& points, size_t i, size_t begin, size_t end, double coefficient, double origin,
               LaneTotals& totals),
              (points, i, begin, end, coefficient, origin, totals));
BTML_DISPATCH(void, add_density,
              (const PointColumns& points, size_t i, size_t begin, size_t end, double coefficient, double origin,
               LaneTotals& totals),
              (points, i, begin, end, coefficient, origin, totals));
// Writes the weights of i with all points, and adds them to totals.first.
BTML_DISPATCH(void, store_weights,
              (const PointColumns& points, size_t i, double coefficient, double origin, double* to, LaneTotals& totals),
              (points, i, coefficient, origin, to, totals));
// Returns the squared distance of i from the nearest other point.
BTML_DISPATCH(double, nearest_distance, (const PointColumns& points, size_t i), (points, i));

} // namespace btml::pairwise
