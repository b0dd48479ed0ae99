// S_KR, the leave-one-out score of kernel regression:
//   (1/n) Σ_i (y_i − Σ_{j≠i} K_h(x_i − x_j) y_j / Σ_{j≠i} K_h(x_i − x_j))².
#pragma once

#include "core/kernel/leave_one_out_sum.hpp"

namespace btml::kernel {

// Sums of weights, and of weights times targets.
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

class KrScore {
  public:
    KrScore(const VarianceTree& tree, double bandwidth)
        : tree_(tree), sum_(tree, 1 / (2 * bandwidth * bandwidth), {128, true, 192}) {}

    const LeaveOneOutSum<RegressionTerms>& inner() const { return sum_; }
    LeaveOneOut constants(size_t i) const { return {i}; }
    double term(const LeaveOneOut& at, const RegressionTerms::Total& total) const {
        const double residual = tree_.target(at.position) - total.products / total.weights;
        return residual * residual;
    }

    bool defined(const RegressionTerms::Total& total) const { return total.weights >= isolated_weight; }
    bool settled(const Replicates<RegressionTerms::Total>& totals) const {
        return ratio_settled(totals.first.weights, totals.second.weights);
    }
    void widen(LeaveOneOut& at) const { sum_.widen(at); }
    bool remarkable(const LeaveOneOut& at, const RegressionTerms::Total&) const { return sum_.underflows(at); }

    // Sums below it are made anew, relative to the nearest row.
    static constexpr double least_weight = 1e-250;

  private:
    const VarianceTree& tree_;
    LeaveOneOutSum<RegressionTerms> sum_;
};

} // namespace btml::kernel
