// The coordinates in which kernels are evaluated: centred on the keys, in units in which the kernel is that of
// tiles.hpp.
#pragma once

#include "core/kernel/options.hpp"
#include "core/kernel/points.hpp"

#include <vector>

namespace btml::kernel {

struct Frame {
    Kernel kernel;
    std::vector<double> centre, factor;
    double log_volume; // ln of the volume, in the units of the columns, in which the kernel's u is a unit cube

    // The mean of the keys, each as often as it is there, taken in the order given; see Options::scale. Errors
    // out_of_range where a mean or a deviation is no finite number or the keys spread over more than 10^12 bandwidths.
    Frame(const Points& keys, const Buffer<uint32_t>& order, const Options& options, RunContext& context);

    void apply(const double* from, double* to) const noexcept {
        for (size_t k = 0; k < centre.size(); k++) to[k] = (from[k] - centre[k]) * factor[k];
    }
    // −log₂ of the kernel (Gaussian, Laplacian), or ‖u‖² (Epanechnikov), of two points in these coordinates.
    double exponent(const double* a, const double* b) const noexcept;
    double value(const double* a, const double* b) const noexcept;
    // ln ∫k(u) du.
    double log_integral() const noexcept;
};

} // namespace btml::kernel
