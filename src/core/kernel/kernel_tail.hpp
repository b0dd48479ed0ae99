// Assumption (A) of the paper of KernelSums, measured: how much of a kernel matrix is outside its largest entries.
// Weights play no part, and equal keys are not merged: the matrix has an entry for each pair.
#pragma once

#include "core/kernel/kernel_options.hpp"
#include "core/kernel/kernel_points.hpp"

#include <vector>

namespace btml::kernel {

// n is the larger of the numbers of keys and queries; the ratio is (‖K‖₁ − top n)/(top n), top n being the sum of the
// n largest entries. Infinite where all of those are 0.
struct TailRatio {
    double value;
    double std_error;     // 0 when exact
    uint64_t evaluations; // entries of K
};

// Method exact looks at every entry; sampled takes whole rows at random; automatic is exact up to 10^9 entries.
// Errors: those of Options::check; invalid_argument for no keys or queries and for different dimensions.
TailRatio kernel_tail_ratio(const Points& keys, const Points& queries, const Options& options, RunContext& context);

struct TailOfPrefix {
    uint64_t prefix; // the first so many keys and queries
    double tail_ratio;
    double nth_to_next; // the n-th largest entry over the (n+1)-th; infinite where that is 0
    double nth_to_2nth; // over the 2n-th
};

// Exactly, for each prefix in the order given; none given: 50, 100, 200 … and the whole. A ratio of entries that do
// not exist (n² < 2n) is infinite. Errors as above, and invalid_argument for a prefix below 1 or above the number of
// points.
std::vector<TailOfPrefix> kernel_tail_profile(const Points& keys, const Points& queries, const Options& options,
                                              const std::vector<uint64_t>& prefixes, RunContext& context);

} // namespace btml::kernel
