// Finds a kernel's weights of a point with all others, which lie column by column.
#pragma once

#include "core/base/levels.hpp"
#include "core/pairwise/convolution.hpp"

#include <cstddef>

namespace btml::pairwise {

// Numbers of points are multiples of `group`: what pads them has infinite coordinates and the target 0. The targets, if
// there are any, are the column after the coordinates.
struct PointColumns {
    static constexpr size_t group = 32;

    const double* values;
    size_t padded, dimensions;
    bool has_targets;

    const double* column(size_t k) const { return values + k * padded; }
    const double* targets() const { return column(dimensions); }
};

// Holds sums by lane.
struct LaneTotals {
    Lanes first{}, second{};
};

// Says what the weights of point i are.
struct WeightsOf {
    Kernel kernel;
    double coefficient, origin; // are as in kernel_weight.hpp
};

// Adds to the totals over the points begin ≤ j < end but i: Σ weight and, of points with targets, Σ weight·target.
BTML_DISPATCH(void, add_weights,
              (const PointColumns& points, size_t i, size_t begin, size_t end, const WeightsOf& of, LaneTotals& totals),
              (points, i, begin, end, of, totals));
// Writes the weights of i with all points, and adds them to totals.first.
BTML_DISPATCH(void, store_weights,
              (const PointColumns& points, size_t i, const WeightsOf& of, double* to, LaneTotals& totals),
              (points, i, of, to, totals));
// Returns the sum over the coordinates, in the kernel's metric, for i and the nearest other point.
BTML_DISPATCH(double, nearest_sum, (const PointColumns& points, size_t i, Kernel kernel), (points, i, kernel));

} // namespace btml::pairwise
