// Moves inducing points, and the kernel's parameters with them, to where the collapsed bound is greatest.
#pragma once

#include "core/gp/sparse/likelihood_search.hpp"

namespace btml::gp {

// The derivatives of the bound of rows that count `repeat` times each: by the logarithms of the kernel's parameters, in
// the order of parameters_of(), and by the inducing points' coordinates (K × width, 0 for categories). O(n·K² + K³).
struct BoundSlopes {
    std::vector<double> parameters;
    Buffer<double> points;
};
BoundSlopes slopes_of_bound(const SmoothKernel& kernel, std::span<const double> inducing, const SmoothRows& rows,
                            double repeat, ThreadTeam& team, RunContext& context);

struct PointSearch {
    int steps;
    size_t rows; // that a step looks at: others each time, which stand for all
    uint64_t seed;
};

// Adam (Kingma, Ba, 2015), whose steps become shorter until the last. What a step sees of the bound are sums over its
// rows, times n/rows: those over all rows but for chance.
void move_points(SmoothKernel& kernel, Buffer<double>& inducing, const SmoothRows& rows, const GivenParameters& given,
                 const PointSearch& search, ThreadTeam& team, RunContext& context);

} // namespace btml::gp
