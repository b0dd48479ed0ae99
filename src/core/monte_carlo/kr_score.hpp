// S_KR, the leave-one-out score of kernel regression:
//   (1/n) Σ_i (y_i − Σ_{j≠i} K_h(x_i − x_j) y_j / Σ_{j≠i} K_h(x_i − x_j))².
#pragma once

#include "core/monte_carlo/leave_one_out_sum.hpp"
#include "core/monte_carlo/score_form.hpp"

namespace btml::monte_carlo {

// Adds up weights, and weights times targets.
struct RegressionTerms {
    struct Total {
        double weights = 0, products = 0;

        void clear() { weights = products = 0; }
        void add(const Total& other, double factor) {
            weights += factor * other.weights;
            products += factor * other.products;
        }
    };

    static void add(Total& total, double weight, double factor, double target) {
        total.weights += factor * weight;
        total.products += factor * weight * target;
    }
};

template <class Shape>
class KrScore : public RatioScore<RegressionTerms, Shape> {
  public:
    KrScore(const VarianceTree& tree, const Bandwidths& bandwidths)
        : RatioScore<RegressionTerms, Shape>(tree, bandwidths.x, {128, true, 192}), tree_(tree) {}

    double term(const LeaveOneOut& at, const RegressionTerms::Total& total) const {
        const double residual = tree_.target(at.position) - total.products / total.weights;
        return residual * residual;
    }
    bool remarkable(const LeaveOneOut& at, const RegressionTerms::Total&) const { return this->sum_.underflows(at); }

  private:
    const VarianceTree& tree_;
};

} // namespace btml::monte_carlo
