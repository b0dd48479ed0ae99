// Searches for the bit order and the kernel of highest likelihood.
#pragma once

#include "core/gp/search/order_evaluator.hpp"

namespace btml::gp {

// Says how a member finds its bit order and weights; search_order says what each does.
enum class Search { local, bfgs, none };

struct OrderSearch {
    Search search = Search::local;
    uint64_t evaluations = 0; // of the likelihood of all rows; at least 1
    KernelLimits limits;
    uint64_t seed = 0, stream = 0; // searches with other streams are independent
};

// local: a greedy order, from at most 65,536 of the rows; then changes of it at random places that are kept when the
// likelihood grows: two levels near each other change places, a level moves, takes a bit of another feature, or comes
// in between; then a descent as of bfgs from there. The last evaluations go to bfgs itself, and the more likely result
// is taken.
// bfgs: the paper's (Binary Tree Gaussian Processes): one number θ = e^φ per bit gives the order, by falling
// θ, and the weights, the differences of neighbours; L-BFGS on φ sorts again at every step, from the more likely ones
// of many random starts. Here as everywhere a feature's bits keep their order, and Σw = max θ is not fixed at 1.
// none: the features' bits in turn, and L-BFGS for the kernel.
//
// The result is a function of the arguments alone.
OrderedKernel search_order(const Encoding& encoding, const DistinctRows& rows, const OrderSearch& search,
                           RunContext& context);

} // namespace btml::gp
