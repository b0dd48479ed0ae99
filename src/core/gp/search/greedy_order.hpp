// A bit order made from the top: one level after another takes the next bit of the feature that explains most.
#pragma once

#include "core/gp/search/evaluation_budget.hpp"
#include "core/gp/tree/distinct_rows.hpp"
#include "core/gp/tree/kernel.hpp"
#include "core/gp/tree/row_sorter.hpp"

namespace btml::gp {

struct OrderedKernel {
    BitOrder order;
    Kernel kernel;
    double negative_log_likelihood;
};

// Starts without a level, when all is noise. A step tries every allowed feature with two trial weights, a share of the
// noise that becomes noise no more, and takes the best one whether or not it explains more than before, for a level may
// pay only once others have followed. Every few levels, weights and noise (at least `min_noise`) are fitted. The
// result is the best of the prefixes, at most 64 levels. At least one evaluation is made.
OrderedKernel choose_order(const Encoding& encoding, const DistinctRows& rows, std::span<const uint16_t> allowed,
                           double min_noise, EvaluationBudget& budget, RunContext& context);

} // namespace btml::gp
