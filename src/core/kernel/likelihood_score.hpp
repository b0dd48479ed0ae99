// S_L, minus the mean leave-one-out log-likelihood of kernel density estimation in d dimensions,
//   −(1/n) Σ_i log [1/(n−1) Σ_{j≠i} K_h(x_i − x_j)],
// which but for a constant estimates the Kullback–Leibler divergence of the estimate from the density (Silverman:
// Density Estimation for Statistics and Data Analysis, section 3.4.4).
#pragma once

#include "core/kernel/kde_score.hpp"

namespace btml::kernel {

struct LikelihoodTerms {
    struct Total {
        double weights = 0;

        void clear() { weights = 0; }
        void add(const Total& other, double factor) { weights += factor * other.weights; }
    };

    static void add(Total& total, double weight, double factor, double) { total.weights += factor * weight; }
};

// The term of a row whose weights exp(−c·(d² − origin)) add up to `weights`.
struct LikelihoodOfRow {
    LikelihoodOfRow(double bandwidth, size_t dimensions, size_t rows)
        : coefficient(1 / (2 * bandwidth * bandwidth)),
          constant(0.5 * static_cast<double>(dimensions) * std::log(std::numbers::pi / coefficient) +
                   std::log(static_cast<double>(rows) - 1)) {}

    double term(double weights, double origin) const { return constant + origin * coefficient - std::log(weights); }

    double coefficient, constant;
};

class LikelihoodScore {
  public:
    LikelihoodScore(const VarianceTree& tree, double bandwidth)
        : of_row_(bandwidth, tree.rows().dimensions, tree.size()), sum_(tree, of_row_.coefficient, {128, true, 192}) {}

    const LeaveOneOutSum<LikelihoodTerms>& inner() const { return sum_; }
    LeaveOneOut constants(size_t i) const { return {i}; }
    double term(const LeaveOneOut& at, const LikelihoodTerms::Total& total) const {
        return of_row_.term(total.weights, at.origin);
    }

    bool defined(const LikelihoodTerms::Total& total) const { return total.weights >= isolated_weight; }
    bool settled(const Replicates<LikelihoodTerms::Total>& totals) const {
        return ratio_settled(totals.first.weights, totals.second.weights);
    }
    void widen(LeaveOneOut& at) const { sum_.widen(at); }

    // Sums below it are made anew, relative to the nearest row.
    static constexpr double least_weight = 1e-250;

  private:
    LikelihoodOfRow of_row_;
    LeaveOneOutSum<LikelihoodTerms> sum_;
};

} // namespace btml::kernel
