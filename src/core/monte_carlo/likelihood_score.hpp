// S_L, minus the mean leave-one-out log-likelihood of kernel density estimation in d dimensions,
//   −(1/n) Σ_i log [1/(n−1) Σ_{j≠i} K_h(x_i − x_j)],
// which but for a constant estimates the Kullback–Leibler divergence of the estimate from the density (Silverman:
// Density Estimation for Statistics and Data Analysis, section 3.4.4).
#pragma once

#include "core/monte_carlo/leave_one_out_sum.hpp"
#include "core/monte_carlo/score_form.hpp"

namespace btml::monte_carlo {

// Gives the term of a row whose weights relative to an origin, at which the kernel has this decay, add up to `weights`.
struct LikelihoodOfRow {
    LikelihoodOfRow(pairwise::Kernel kernel, double bandwidth, size_t dimensions, size_t rows)
        : constant(facts_of(kernel).log_volume(bandwidth, dimensions) + std::log(rows - 1.0)) {}

    double term(double weights, double decay) const { return constant + decay - std::log(weights); }

    double constant;
};

template <class Shape>
class LikelihoodScore : public RatioScore<WeightedTargets, Shape> {
  public:
    LikelihoodScore(const VarianceTree& tree, const Bandwidths& bandwidths)
        : RatioScore<WeightedTargets, Shape>(tree, bandwidths.x, {128, true, 192}),
          coefficient_(pairwise::coefficient<Shape>(bandwidths.x)),
          of_row_(pairwise::kernel_of<Shape>, bandwidths.x, tree.rows().dimensions, tree.size()) {}

    double term(const LeaveOneOut& at, const WeightedTargets::Total& total) const {
        return of_row_.term(total.weights, pairwise::decay<Shape>(at.origin, coefficient_));
    }

  private:
    double coefficient_;
    LikelihoodOfRow of_row_;
};

} // namespace btml::monte_carlo
