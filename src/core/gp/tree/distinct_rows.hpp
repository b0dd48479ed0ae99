// Rows with equal bits as one: what a search over bit orders and a fit of the kernel need not see apart.
#pragma once

#include "core/gp/tree/encoding.hpp"
#include "core/gp/tree/observations.hpp"

namespace btml::gp {

struct DistinctRows {
    BitRows rows; // in the order of their bits
    Observations observations;
};

// The likelihood of the result is that of the given rows, for every bit order and kernel. `bits` per row.
DistinctRows merge_equal_rows(const BitRows& rows, size_t bits, const Observations& observations, RunContext& context);

} // namespace btml::gp
