// S_L, minus the mean leave-one-out log-likelihood of kernel density estimation in d dimensions,
//   −(1/n) Σ_i log [1/(n−1) Σ_{j≠i} K_h(x_i − x_j)],
// which but for a constant estimates the Kullback–Leibler divergence of the estimate from the density (Silverman:
// Density Estimation for Statistics and Data Analysis, section 3.4.4).
#pragma once

#include "core/monte_carlo/kde_score.hpp"

namespace btml::monte_carlo {

struct LikelihoodTerms {
    struct Total {
        double weights = 0;

        void clear() { weights = 0; }
        void add(const Total& other, double factor) { weights += factor * other.weights; }
    };

    static void add(Total& total, double weight, double factor, double) { total.weights += factor * weight; }
};

// Gives the term of a row whose weights exp(−c·(d² − origin)) add up to `weights`.
struct LikelihoodOfRow {
    LikelihoodOfRow(double bandwidth, size_t dimensions, size_t rows)
        : coefficient(1 / (2 * bandwidth * bandwidth)),
          constant(0.5 * static_cast<double>(dimensions) * std::log(std::numbers::pi / coefficient) +
                   std::log(static_cast<double>(rows) - 1)) {}

    double term(double weights, double origin) const { return constant + origin * coefficient - std::log(weights); }

    double coefficient, constant;
};

class LikelihoodScore : public RatioScore<LikelihoodTerms> {
  public:
    LikelihoodScore(const VarianceTree& tree, const Bandwidths& bandwidths)
        : LikelihoodScore(tree, LikelihoodOfRow(bandwidths.x, tree.rows().dimensions, tree.size())) {}

    double term(const LeaveOneOut& at, const Total& total) const { return of_row_.term(total.weights, at.origin); }

    // Exact sums below it are made anew, relative to the nearest row.
    static constexpr double min_weight = 1e-250;

  private:
    LikelihoodScore(const VarianceTree& tree, const LikelihoodOfRow& of_row)
        : RatioScore(tree, of_row.coefficient, {128, true, 192}), of_row_(of_row) {}

    LikelihoodOfRow of_row_;
};

} // namespace btml::monte_carlo
