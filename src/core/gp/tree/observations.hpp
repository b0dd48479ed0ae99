// Holds what was observed, one entry per row or per group of rows with equal bits.
#pragma once

#include "core/gp/tree/encoding.hpp"

namespace btml::gp {

// Rows with equal bits act as one observation: their weighted mean, with the sum of their weights. What the likelihood
// still needs to know of the single rows does not depend on the kernel's bit order and is in the last three fields.
struct Observations {
    explicit Observations(MemoryBudget& budget) : target(budget, "targets"), weight(budget, "weights") {}

    Buffer<double> target;  // finite; standardised by the caller
    Buffer<double> weight;  // > 0: an entry of weight w is observed with noise variance λ/w; empty: 1 each
    double merged = 0;      // rows less entries
    double residual = 0;    // Σ over rows of w(y − the entry's target)²
    double log_weights = 0; // Σ over rows of log w, less the same sum over entries

    size_t size() const { return target.size(); }
    double weight_of(size_t i) const { return weight.empty() ? 1 : weight[i]; }
};

inline constexpr double min_row_weight = 1e-40, max_row_weight = 1e40;

// Throws invalid_argument unless the target is finite and the weight within these bounds.
void validate_observation(double target, double weight);

// Copies both. Error invalid_argument where an observation is not valid.
Observations make_observations(std::span<const double> target, std::span<const double> weight, RunContext& context);

// Returns the power of two at or below the mean weight, 1 without weights. Weights and noise both divided by it give
// the same gp to the last bit, in which noise is of the size of the targets' variance: searches and limits count
// on that.
double unit_of_weights(std::span<const double> weight);
void divide_weights(Observations& observations, double unit);

// Writes these entries, in this order, into `gathered`, whose memory is used again.
void gather(const Observations& observations, std::span<const uint32_t> entries, Observations& gathered,
            RunContext& context);

// Rows with equal bits count as one: what a search over bit orders and a fit of the kernel need not see apart.
struct DistinctRows {
    BitRows rows; // in the order of their bits
    Observations observations;
};

// The likelihood of the result is that of the given rows, for every bit order and kernel. `bits` per row.
DistinctRows merge_equal_rows(const BitRows& rows, size_t bits, const Observations& observations, RunContext& context);

} // namespace btml::gp
