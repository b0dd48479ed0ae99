// Sums a kernel's weights over pairs of points, in double: a weight is found once and counts for both of its points,
// and what it is a function of is found once for all bandwidths.
#pragma once

#include "core/pairwise/weights.hpp"

namespace btml::pairwise {

inline constexpr size_t strip_rows = 32, strip_others = 256;

// Pairs `rows` points from `row` on with `others` from `other` on. There are at most strip_rows and strip_others, the
// latter a multiple of PointColumns::group. Padding may be among the others only.
struct Strip {
    PointColumns points;
    size_t row, rows, other, others;
};

// Points to sums of the first point and those that follow.
struct StripTotals {
    double *first, *second;
};

// Writes sums[i * others + j], over the coordinates in the kernel's metric; infinity for a point with itself.
BTML_DISPATCH(void, find_strip, (const Strip& strip, Kernel kernel, double* sums), (strip, kernel, sums));
// Adds Σ weight and, of points with targets, Σ weight·(the other's target), to those of the rows and of the others.
BTML_DISPATCH(void, add_strip,
              (const Strip& strip, const double* sums, Kernel kernel, double coefficient, const StripTotals& of_rows,
               const StripTotals& of_others),
              (strip, sums, kernel, coefficient, of_rows, of_others));
// Adds Σ of the kernel's convolution with itself, as a multiple of its peak, and Σ of the kernel; it is a Gaussian or
// a Matérn kernel.
BTML_DISPATCH(void, add_strip_densities,
              (const Strip& strip, const double* sums, Kernel kernel, double coefficient,
               const Convolution& convolution, const StripTotals& of_rows, const StripTotals& of_others),
              (strip, sums, kernel, coefficient, convolution, of_rows, of_others));

} // namespace btml::pairwise
