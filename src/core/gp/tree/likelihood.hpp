// The log marginal likelihood of observations under the binary tree kernel and its exact gradient, without a tree.
//
// f is a sum of independent Gaussians on the nodes of the trie of the rows' strings: below its parent a node adds
// N(0, c_depth − c_parent's depth). A subtree says of f at its root what one observation would, with some mean and
// variance: an edge adds its variance, and two subtrees with (m1, v1) and (m2, v2) that meet have m1 − m2 ~ N(0, v1 +
// v2) and go on as one of variance v1·v2/(v1 + v2). So the likelihood is a product of one independent contrast per
// meeting, all of them positive terms (Felsenstein: Maximum-Likelihood Estimation of Evolutionary Trees from Continuous
// Characters, 1973). Sorted neighbours meet at the level of their longest common prefix, which is all that is needed.
#pragma once

#include "core/gp/tree/observations.hpp"
#include "core/gp/tree/tree_kernel.hpp"

namespace btml::gp {

struct Subtree;

struct Gradient {
    std::vector<double> weights; // ∂/∂w_1 … ∂/∂w_q
    double noise = 0;            // ∂/∂λ
};

// −log p(y), in nats, of observations in the order of their strings, of which i and i + 1 share common[i] ≤ q levels;
// the last entry of common is 0. O(n + q) time, O(q) memory. The kernel must be valid; no observation: 0.
double negative_log_likelihood(std::span<const uint16_t> common, const Observations& sorted, const Kernel& kernel,
                               RunContext& context);

// Does the same with its gradient, in O(n + q); keeps 26 bytes per observation between calls.
class LikelihoodGradient {
  public:
    explicit LikelihoodGradient(RunContext& context);

    double operator()(std::span<const uint16_t> common, const Observations& sorted, const Kernel& kernel,
                      Gradient& gradient, RunContext& context);

  private:
    // Two subtrees that meet, in the order of the pass.
    struct Meeting {
        double left_variance, right_variance, difference;
    };

    template <bool weighted>
    void reverse(const Subtree& root, std::span<const uint16_t> common, const Observations& sorted,
                 const Kernel& kernel, Gradient& gradient, RunContext& context) const;

    Buffer<Meeting> meetings_;
    Buffer<uint16_t> levels_; // are those where they meet
};

} // namespace btml::gp
