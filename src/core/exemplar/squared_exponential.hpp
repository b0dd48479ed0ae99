// The squared exponential kernel has a length scale for each coordinate (automatic relevance determination), a
// constant mean and the variance of the noise.
#pragma once

#include "core/base/threads.hpp"
#include "core/exemplar/exemplar_options.hpp"
#include "core/exemplar/exemplar_points.hpp"

#include <vector>

namespace btml::exemplar {

struct SquaredExponential {
    std::vector<double> length_scales;
    double signal = 1, noise = 1; // are variances, above 0
    double mean = 0;              // is that of the targets
};

// Returns the kernel that the options give. What they leave open is learned from the points' targets by type-II maximum
// likelihood, as gp::learn_kernel does. Throws invalid_argument for another number of length scales than of coordinates
// and for targets that are all the same, out_of_range for targets whose squares are no numbers.
SquaredExponential choose_kernel(const Options& options, const PointSet& points, ThreadTeam& team, RunContext& context);

} // namespace btml::exemplar
