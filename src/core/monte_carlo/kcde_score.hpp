// S_KCDE, the least-squares leave-one-out score of kernel conditional density estimation:
//   (1/n) Σ_i [∫ f_i(y)² dy − 2 f_i(y_i)],   f_i(y) = Σ_{j≠i} w_ij K_h1(y − y_j),   w_ij = K_h2(x_i − x_j) / Σ_{k≠i}
//   K_h2(x_i − x_k).
#pragma once

#include "core/monte_carlo/leave_one_out_sum.hpp"
#include "core/monte_carlo/score_form.hpp"
#include "core/monte_carlo/square_integral.hpp"

namespace btml::monte_carlo {

// Collects the rows drawn, with their weights.
struct ConditionalTerms {
    struct Total {
        std::vector<WeightedTarget> targets;
        double weights = 0;

        void clear() {
            targets.clear();
            weights = 0;
        }
        void add(const Total& other, double factor) {
            weights += factor * other.weights;
            for (const WeightedTarget& target : other.targets)
                targets.push_back({target.target, factor * target.weight});
        }
    };

    static void add(Total& total, double weight, double factor, double target) {
        if (weight == 0) return;
        total.weights += factor * weight;
        total.targets.push_back({target, factor * weight});
    }
};

template <class Shape>
class KcdeScore : public RatioScore<ConditionalTerms, Shape> {
  public:
    KcdeScore(const VarianceTree& tree, const Bandwidths& bandwidths)
        : RatioScore<ConditionalTerms, Shape>(tree, bandwidths.x, {128, false, 384}),
          tree_(tree),
          target_bandwidth_(bandwidths.target) {}

    double term(const LeaveOneOut& at, const ConditionalTerms::Total& total) const {
        const MixtureIntegrals integrals =
            mixture_integrals(total.targets, tree_.target(at.position), target_bandwidth_);
        return (integrals.square / total.weights - 2 * integrals.value) / total.weights;
    }
    bool remarkable(const LeaveOneOut& at, const ConditionalTerms::Total&) const { return this->sum_.underflows(at); }

  private:
    const VarianceTree& tree_;
    const double target_bandwidth_;
};

} // namespace btml::monte_carlo
