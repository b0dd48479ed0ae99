// Fits the weights and noise of the kernel by maximum likelihood, for rows in one order.
#pragma once

#include "core/gp/tree/likelihood.hpp"
#include "core/gp/tree/row_sorter.hpp"

#include <limits>
#include <optional>

namespace btml::gp {

// Holds what the user fixes, and the least noise to be learned; in units of the targets' variance.
struct KernelLimits {
    std::optional<double> noise, signal;
    double min_noise = 0;
};

struct OrderedKernel {
    BitOrder order;
    Kernel kernel;
    double negative_log_likelihood = std::numeric_limits<double>::infinity(); // is that of all rows
    uint64_t evaluations = 0;                                                 // were made to find it
};

// Fits from `start`, whose noise and weights are brought within the limits, by L-BFGS on the logarithms of the weights
// and of the noise above its least; at most so many evaluations of the likelihood, at least 1. Rows as for
// negative_log_likelihood, whose order is the caller's and is left empty.
OrderedKernel fit_kernel(std::span<const uint16_t> common, const Observations& sorted, const Kernel& start,
                         const KernelLimits& limits, int evaluations, RunContext& context);

} // namespace btml::gp
