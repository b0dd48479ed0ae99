// Attention, softmax(q·k/√d)·V, as a mean under a Gaussian kernel.
#pragma once

#include "core/kernel/frame.hpp"
#include "core/kernel/kernel_sums.hpp"

namespace btml::kernel {

// Lemma 4.1 of the paper of KernelSums: with the coordinate √(max‖k‖² − ‖k_j‖²) appended to the keys, 0 to the queries,
// and σ² = √d, exp(q·k/√d) is a Gaussian kernel but for a factor of the query alone, which the softmax cancels and
// which is therefore never formed.
class Attention {
  public:
    // Keys of d coordinates whose values are the components of V, at least one. Bandwidth and kernel of the options
    // are not looked at; epsilon is measured on the normalised output. Errors as of KernelSums.
    Attention(Keys keys, const Options& options, RunContext& context);

    // A row's std_error is the root mean square over its components. Queries have d coordinates. all: as of KernelSums.
    Estimates evaluate(const Points& queries, uint64_t all = 0);
    uint64_t queries_that_fit(uint64_t wanted, uint64_t bytes_of_query) const; // as of KernelSums

  private:
    RunContext& context_;
    Coordinates coordinates_;
    KernelSums sums_;
};

} // namespace btml::kernel
