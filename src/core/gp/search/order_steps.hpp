// The steps that searches of bit orders are made of. Their budget must allow at least one evaluation.
#pragma once

#include "core/gp/search/order_evaluator.hpp"
#include "core/numbers/rng.hpp"

namespace btml::gp {

// Chooses so many numbers below `all`, in their order, each with the same chance.
std::vector<uint32_t> choose(size_t count, size_t all, RandomStream random);

// Makes a bit order from the top: one level after another takes the next bit of the feature that explains most.
//
// Starts without a level, when all is noise. A step tries every feature with two trial weights, a share of the noise
// that becomes noise no more, and takes the best one whether or not it explains more than before, for a level may pay
// only once others have followed. Every few levels, weights and noise are fitted; a given noise is the least one, and a
// given signal has no part in it. The result is the best of the prefixes, at most 64 levels.
OrderedKernel choose_order(const OrderProblem& problem, EvaluationBudget& budget);

// Improves a bit order by random changes; see search_order.
OrderedKernel improve_order(const OrderProblem& problem, OrderedKernel start, RandomStream random,
                            EvaluationBudget& budget);

// The paper's search finds bit order and weights from one vector of numbers, by gradient; see search_order.
OrderedKernel search_thetas(const OrderProblem& problem, RandomStream random, EvaluationBudget& budget);

// Does the same from one start, and never ends below it. Levels that the start leaves out come after its own.
OrderedKernel improve_thetas(const OrderProblem& problem, const OrderedKernel& start, EvaluationBudget& budget);

} // namespace btml::gp
