// The paper's search: bit order and weights from one vector of numbers, by gradient.
#pragma once

#include "core/base/rng.hpp"
#include "core/gp/search/order_search.hpp"

namespace btml::gp {

// See search_order. The budget must allow at least one evaluation.
FoundOrder search_thetas(const Encoding& encoding, const DistinctRows& rows, std::span<const uint16_t> features,
                         const KernelLimits& limits, RandomStream random, EvaluationBudget& budget,
                         RunContext& context);

// The same from one start: never ends below it. Levels that the start leaves out come after its own.
FoundOrder improve_thetas(const Encoding& encoding, const DistinctRows& rows, std::span<const uint16_t> features,
                          const FoundOrder& start, const KernelLimits& limits, EvaluationBudget& budget,
                          RunContext& context);

} // namespace btml::gp
