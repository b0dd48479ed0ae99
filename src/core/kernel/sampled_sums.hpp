// Sums at queries: exactly over the leaves of keys near each group of queries, from random samples over the others.
#pragma once

#include "core/kernel/key_sample.hpp"
#include "core/kernel/pilot.hpp"

namespace btml::kernel {

struct SampledSums {
    Buffer<double> sums;    // [query][column], in the estimand's units; unbiased
    Buffer<double> squares; // [query][square]: their variances and covariances, as Estimand::error takes them
    Buffer<double> errors;  // by query: Estimand::error, at least what is typical of its neighbours
    double error;           // Σ over the queries of their own
    double evaluated;       // share of all pairs
};

// Draws until the error is estimated to be at most what the plan allows, for all queries together. A group whose sample
// would be most of the keys is summed exactly.
SampledSums sampled_sums(const SampleTask& task, const Plan& plan);

} // namespace btml::kernel
