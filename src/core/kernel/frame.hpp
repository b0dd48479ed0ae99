// The coordinates in which kernels are evaluated: centred on the keys, in units in which the kernel is a function of
// the sum of kernels.hpp.
#pragma once

#include "core/kernel/kernel_options.hpp"
#include "core/kernel/kernel_points.hpp"

#include <vector>

namespace btml::kernel {

struct Coordinates {
    std::vector<double> centre, factor;
    double log_volume; // ln of the volume, in the units of the columns, of a cube with a side of one bandwidth

    // The mean of the keys in their usual range, each as often as it is there, taken in the order given; see
    // Options::scale. A bandwidth is `unit` long in them. Errors out_of_range where a mean or a deviation is no finite
    // number or the keys spread over more than 10^12 bandwidths.
    Coordinates(const Points& keys, const Buffer<uint32_t>& order, double bandwidth, Scale scale, double unit,
                RunContext& context);

    void apply(const double* from, double* to) const noexcept {
        for (size_t k = 0; k < centre.size(); k++) to[k] = (from[k] - centre[k]) * factor[k];
    }
};

struct Frame : Coordinates {
    const KernelFacts& kernel;

    Frame(const Points& keys, const Buffer<uint32_t>& order, const Options& options, RunContext& context)
        : Coordinates(keys, order, options.bandwidth, options.scale, facts_of(options.kernel).unit(), context),
          kernel(facts_of(options.kernel)) {}

    // These are of two points in the frame.
    double sum(const double* a, const double* b) const noexcept { return kernel.sum(a, b, centre.size()); }
    double exponent(const double* a, const double* b) const noexcept { return kernel.exponent(sum(a, b)); }
    double value(const double* a, const double* b) const noexcept { return kernel.value(sum(a, b)); }
    // Returns ln ∫k(u) du.
    double log_integral() const noexcept { return kernel.log_integral(centre.size()); }
};

} // namespace btml::kernel
