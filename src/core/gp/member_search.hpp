// Where the bit order and the kernel of a member come from.
#pragma once

#include "core/gp/distinct_rows.hpp"
#include "core/gp/kernel_fit.hpp"
#include "core/gp/options.hpp"
#include "core/gp/row_sorter.hpp"

namespace btml::gp {

struct FoundMember {
    BitOrder order;
    Kernel kernel;
    double negative_log_likelihood; // of the rows given
    uint64_t evaluations;           // of their likelihood
};

// The one of highest likelihood that options.search finds within `evaluations`; a function of the arguments alone.
// `stream` tells members with one seed apart. Error not_supported.
FoundMember find_member(const Encoding& encoding, const DistinctRows& rows, const Options& options,
                        const KernelLimits& limits, int evaluations, uint64_t stream, RunContext& context);

} // namespace btml::gp
