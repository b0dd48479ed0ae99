// Sums Σ_{j ≠ i} of a kernel's weight of rows i and j times something of row j, for one row i of a kd-tree.
#pragma once

#include "core/monte_carlo/expansion.hpp"
#include "core/pairwise/kernel_weight.hpp"

namespace btml::monte_carlo {

// A row whose weights add up to less has few neighbours that count, or one. A sample may lack them without a trace of
// it, so such rows are sampled anew, relative to the nearest row and with it.
inline constexpr double isolated_weight = 1e-3;

// Says whether a ratio with this denominator, known from two halves of a sample, is nearly linear in it.
inline bool ratio_settled(double first, double second) {
    constexpr double most = 0.15; // is the share of the halves' sum that their difference may be
    return std::abs(first - second) <= most * (first + second);
}

// Is what all scores share whose rows are each scored by one such sum. Weight is as in expansion.hpp. Terms is a struct
// { struct Total; static void add(Total&, double weight, double factor, double target); }. A weight that has values()
// gives the weight and what stands in the target's place.
template <class Terms, class Weight>
class LeaveOneOutSum {
  public:
    using Constants = LeaveOneOut;
    using Total = typename Terms::Total;

    LeaveOneOutSum(const VarianceTree& tree, const Weight& weight, const ExpansionRule& rule)
        : tree_(tree), weight_(weight), rule_(rule) {}

    LeaveOneOut constants(size_t i) const { return {i}; }
    void index_set(Constants& at, int effort, std::vector<Stratum>& strata) const {
        ExpansionRule rule = rule_;
        if (at.nearest != LeaveOneOut::no_row) rule.min_sum = weight_(at.origin, at.origin); // what that row adds
        Expansion<Weight>(tree_, weight_, rule, at, effort).run(strata);
    }
    void add_term(const Constants& at, size_t j, double factor, Total& total) const {
        if (j == at.position) return;
        const double sum = sum_to(at.position, j);
        if constexpr (requires { weight_.values(sum); }) {
            const auto [weight, ratio] = weight_.values(sum);
            Terms::add(total, weight, factor, ratio);
        } else {
            Terms::add(total, weight_(sum, at.origin), factor, tree_.rows().target ? tree_.target(j) : 0);
        }
    }
    // Makes weights relative to the nearest row, whose leaf is in every sample.
    void widen(Constants& at) const {
        at.nearest = tree_.nearest<typename Weight::Metric>(at.position);
        at.origin = sum_to(at.position, at.nearest);
    }
    // Says whether the kernel of the nearest row underflows.
    bool underflows(const Constants& at) const { return weight_.underflows(at.origin); }

  protected:
    const VarianceTree& tree_;

  private:
    double sum_to(size_t i, size_t j) const {
        return pairwise::sum_of<typename Weight::Metric>(tree_.row(i), tree_.row(j), tree_.rows().dimensions);
    }

    const Weight weight_;
    const ExpansionRule rule_;
};

// Adds up weights, and weights times targets.
struct WeightedTargets {
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

// Has what scores share that divide by the sum of a row's weights, or take its logarithm; Total has it as `weights`.
template <class Terms, class Shape>
class RatioScore : public LeaveOneOutSum<Terms, pairwise::KernelWeight<Shape>> {
  public:
    using Total = typename Terms::Total;

    bool defined(const Total& total) const { return total.weights >= isolated_weight; }
    bool settled(const Replicates<Total>& totals) const {
        return ratio_settled(totals.first.weights, totals.second.weights);
    }

  protected:
    RatioScore(const VarianceTree& tree, double bandwidth, const ExpansionRule& rule)
        : LeaveOneOutSum<Terms, pairwise::KernelWeight<Shape>>(tree, pairwise::KernelWeight<Shape>(bandwidth), rule) {}
};

} // namespace btml::monte_carlo
