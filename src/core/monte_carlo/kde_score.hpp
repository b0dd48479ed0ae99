// S_KDE, the least-squares leave-one-out score of kernel density estimation in d dimensions,
//   (1/n) Σ_i [(n−1)⁻² Σ_{j≠i} Σ_{k≠i} N(x_j − x_k; 0, 2h²I) − 2/(n−1) Σ_{j≠i} K_h(x_i − x_j)],
// whose pairs occur n − 2 times (n − 1 times where j = k), so that it is a mean of sums over single rows:
//   (1/n) Σ_i [φ(0)/(n−1) + (n−2)/(n−1)² Σ_{j≠i} φ(x_i − x_j) − 2/(n−1) Σ_{j≠i} K_h(x_i − x_j)],   φ = N(·; 0, 2h²I).
#pragma once

#include "core/monte_carlo/leave_one_out_sum.hpp"

#include <cmath>
#include <numbers>

namespace btml::monte_carlo {

// Returns N(0; 0, variance·I) in d dimensions.
inline double normal_peak(double variance, size_t dimensions) {
    return std::pow(2 * std::numbers::pi * variance, -0.5 * static_cast<double>(dimensions));
}

// φ and K_h are multiples of e and of e², e = exp(−‖u‖²/4h²).
struct DensityTerms {
    struct Total {
        double wide = 0, narrow = 0;

        void clear() { wide = narrow = 0; }
        void add(const Total& other, double factor) {
            wide += factor * other.wide;
            narrow += factor * other.narrow;
        }
    };

    static void add(Total& total, double weight, double factor, double) {
        total.wide += factor * weight;
        total.narrow += factor * weight * weight;
    }
};

// Says what a row's sums contribute.
struct DensityWeights {
    DensityWeights(double bandwidth, size_t dimensions, size_t rows) {
        const double others = static_cast<double>(rows) - 1, variance = bandwidth * bandwidth;
        constant = normal_peak(2 * variance, dimensions) / others;
        wide = constant * (others - 1) / others;
        narrow = -2 * normal_peak(variance, dimensions) / others;
    }
    double constant, wide, narrow;
};

class KdeScore : public LeaveOneOutScore<DensityTerms> {
  public:
    // `typical_sum` is about the mean over the rows of the sums of weights exp(−‖x_i − x_j‖²/4h²), or 0. What a row
    // with fewer neighbours adds to the score need not be known as well.
    KdeScore(const VarianceTree& tree, const Bandwidths& bandwidths, double typical_sum)
        : LeaveOneOutScore(tree, 1 / (4 * bandwidths.x * bandwidths.x), {1024, true, 192, typical_sum}),
          weights_(bandwidths.x, tree.rows().dimensions, tree.size()) {}

    double term(const LeaveOneOut&, const DensityTerms::Total& total) const {
        return weights_.constant + weights_.wide * total.wide + weights_.narrow * total.narrow;
    }
    bool remarkable(const LeaveOneOut&, const DensityTerms::Total& total) const { return total.wide == 0; }

  private:
    DensityWeights weights_;
};

} // namespace btml::monte_carlo
