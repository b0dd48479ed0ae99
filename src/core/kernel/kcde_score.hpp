// S_KCDE, the least-squares leave-one-out score of kernel conditional density estimation:
//   (1/n) Σ_i [∫ f_i(y)² dy − 2 f_i(y_i)],   f_i(y) = Σ_{j≠i} w_ij K_h1(y − y_j),   w_ij = K_h2(x_i − x_j) / Σ_{k≠i}
//   K_h2(x_i − x_k).
#pragma once

#include "core/kernel/leave_one_out_sum.hpp"
#include "core/kernel/square_integral.hpp"

namespace btml::kernel {

// The rows drawn, with their weights.
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

class KcdeScore {
  public:
    KcdeScore(const VarianceTree& tree, double bandwidth, double target_bandwidth)
        : tree_(tree),
          target_bandwidth_(target_bandwidth),
          sum_(tree, 1 / (2 * bandwidth * bandwidth), {128, false, 384}) {}

    const LeaveOneOutSum<ConditionalTerms>& inner() const { return sum_; }
    LeaveOneOut constants(size_t i) const { return {i}; }
    double term(const LeaveOneOut& at, const ConditionalTerms::Total& total) const {
        const MixtureIntegrals integrals =
            mixture_integrals(total.targets, tree_.target(at.position), target_bandwidth_);
        return (integrals.square / total.weights - 2 * integrals.value) / total.weights;
    }

    bool defined(const ConditionalTerms::Total& total) const { return total.weights >= isolated_weight; }
    bool settled(const Replicates<ConditionalTerms::Total>& totals) const {
        return ratio_settled(totals.first.weights, totals.second.weights);
    }
    void widen(LeaveOneOut& at) const { sum_.widen(at); }
    bool remarkable(const LeaveOneOut& at, const ConditionalTerms::Total&) const { return sum_.underflows(at); }

    // Sums below it are made anew, relative to the nearest row.
    static constexpr double least_weight = 1e-120;

  private:
    const VarianceTree& tree_;
    const double target_bandwidth_;
    LeaveOneOutSum<ConditionalTerms> sum_;
};

} // namespace btml::kernel
