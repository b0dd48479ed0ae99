// Covariances of inducing points with groups of other points, and what they change by with the kernel's parameters.
#pragma once

#include "core/base/levels.hpp"
#include "core/gp/sparse/smooth_kernel.hpp"

#include <cstddef>

namespace btml::gp {

inline constexpr size_t covariance_group = 8; // points

// Points have `width` coordinates as SmoothKernel::scale makes them; those of the group lie coordinate by coordinate.
// The covariance of inducing point u with point i of the group is at values[u · stride + i].
struct CovarianceTask {
    KernelChoice kind;
    size_t numbers, width;
    const double* penalties; // of the categories, which follow the numbers
    double signal;
    const double* inducing; // count × width
    size_t count;
    const double* group; // width × covariance_group
    double* values;
    size_t stride;
};

BTML_DISPATCH(void, find_covariances, (const CovarianceTask& task), (task));

// Reads the derivatives of a function by these covariances from `values`, and adds those by the parameters' logarithms
// to slopes[p · covariance_group + i], what point i adds to the derivative by parameter p: coordinates, then the
// signal. by_inducing: null, or count × numbers, to which the derivatives by the inducing points' numbers are added.
BTML_DISPATCH(void, add_slopes, (const CovarianceTask& task, double* slopes, double* by_inducing),
              (task, slopes, by_inducing));

} // namespace btml::gp
