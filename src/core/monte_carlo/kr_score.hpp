// S_KR, the leave-one-out score of kernel regression:
//   (1/n) Σ_i (y_i − Σ_{j≠i} K_h(x_i − x_j) y_j / Σ_{j≠i} K_h(x_i − x_j))².
#pragma once

#include "core/monte_carlo/leave_one_out_sum.hpp"
#include "core/monte_carlo/score_form.hpp"

namespace btml::monte_carlo {

template <class Shape>
class KrScore : public RatioScore<WeightedTargets, Shape> {
  public:
    KrScore(const VarianceTree& tree, const Bandwidths& bandwidths)
        : RatioScore<WeightedTargets, Shape>(tree, bandwidths.x, {128, true, 192}), tree_(tree) {}

    double term(const LeaveOneOut& at, const WeightedTargets::Total& total) const {
        const double residual = tree_.target(at.position) - total.products / total.weights;
        return residual * residual;
    }
    bool remarkable(const LeaveOneOut& at, const WeightedTargets::Total&) const { return this->sum_.underflows(at); }

  private:
    const VarianceTree& tree_;
};

} // namespace btml::monte_carlo
