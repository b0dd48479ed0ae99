// The scores whose terms are of ratios of sums over the other rows.
#pragma once

#include "core/monte_carlo/leave_one_out_sum.hpp"
#include "core/monte_carlo/score_form.hpp"
#include "core/monte_carlo/square_integral.hpp"

namespace btml::monte_carlo {

// S_KR, the leave-one-out score of kernel regression:
//   (1/n) Σ_i (y_i − Σ_{j≠i} K_h(x_i − x_j) y_j / Σ_{j≠i} K_h(x_i − x_j))².
template <class Shape>
class KrScore : public RatioScore<WeightedTargets, Shape> {
  public:
    KrScore(const VarianceTree& tree, const Bandwidths& bandwidths)
        : RatioScore<WeightedTargets, Shape>(tree, bandwidths.x, {128, true, 192}) {}

    double term(const LeaveOneOut& at, const WeightedTargets::Total& total) const {
        const double residual = this->tree_.target(at.position) - total.products / total.weights;
        return residual * residual;
    }
    bool remarkable(const LeaveOneOut& at, const WeightedTargets::Total&) const { return this->underflows(at); }
};

// Gives the term of a row whose weights relative to an origin, at which the kernel has this decay, add up to `weights`.
struct LikelihoodOfRow {
    LikelihoodOfRow(pairwise::Kernel kernel, double bandwidth, size_t dimensions, size_t rows)
        : constant(facts_of(kernel).log_volume(bandwidth, dimensions) + std::log(rows - 1.0)) {}

    double term(double weights, double decay) const { return constant + decay - std::log(weights); }

    double constant;
};

// S_L, minus the mean leave-one-out log-likelihood of kernel density estimation in d dimensions,
//   −(1/n) Σ_i log [1/(n−1) Σ_{j≠i} K_h(x_i − x_j)],
// which but for a constant estimates the Kullback–Leibler divergence of the estimate from the density (Silverman:
// Density Estimation for Statistics and Data Analysis, section 3.4.4).
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

// S_KCDE, the least-squares leave-one-out score of kernel conditional density estimation:
//   (1/n) Σ_i [∫ f_i(y)² dy − 2 f_i(y_i)],   f_i(y) = Σ_{j≠i} w_ij K_h1(y − y_j),   w_ij = K_h2(x_i − x_j) / Σ_{k≠i}
//   K_h2(x_i − x_k).
template <class Shape>
class KcdeScore : public RatioScore<ConditionalTerms, Shape> {
  public:
    KcdeScore(const VarianceTree& tree, const Bandwidths& bandwidths)
        : RatioScore<ConditionalTerms, Shape>(tree, bandwidths.x, {128, false, 384}),
          target_bandwidth_(bandwidths.target) {}

    double term(const LeaveOneOut& at, const ConditionalTerms::Total& total) const {
        return mixture_integrals(total.targets, this->tree_.target(at.position), target_bandwidth_).term(total.weights);
    }
    bool remarkable(const LeaveOneOut& at, const ConditionalTerms::Total&) const { return this->underflows(at); }

  private:
    const double target_bandwidth_;
};

} // namespace btml::monte_carlo
