// A bit order improved by random changes.
#pragma once

#include "core/base/rng.hpp"
#include "core/gp/search/order_search.hpp"

namespace btml::gp {

// See search_order. The budget must allow at least one evaluation.
FoundOrder improve_order(const Encoding& encoding, const DistinctRows& rows, std::span<const uint16_t> features,
                         OrderedKernel start, const KernelLimits& limits, RandomStream random, EvaluationBudget& budget,
                         RunContext& context);

} // namespace btml::gp
