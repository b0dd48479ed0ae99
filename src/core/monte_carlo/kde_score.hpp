// S_KDE, the least-squares leave-one-out score of kernel density estimation in d dimensions,
//   (1/n) Σ_i [(n−1)⁻² Σ_{j≠i} Σ_{k≠i} φ(x_j − x_k) − 2/(n−1) Σ_{j≠i} K_h(x_i − x_j)],   φ = K_h ∗ K_h,
// whose pairs occur n − 2 times (n − 1 times where j = k), so that it is a mean of sums over single rows:
//   (1/n) Σ_i [φ(0)/(n−1) + (n−2)/(n−1)² Σ_{j≠i} φ(x_i − x_j) − 2/(n−1) Σ_{j≠i} K_h(x_i − x_j)].
#pragma once

#include "core/monte_carlo/leave_one_out_sum.hpp"
#include "core/monte_carlo/score_form.hpp"

#include <cmath>
#include <numbers>

namespace btml::monte_carlo {

// Gives φ/φ(0), with the ratio of k to it, which stands in the place of a target.
template <class Shape>
struct ConvolvedWeight {
    using Metric = typename Shape::Metric;

    double operator()(double sum, double) const { return values(sum).first; }
    std::pair<double, double> values(double sum) const {
        double ratio;
        pairwise::convolve<Shape, double, uint64_t>(sum, ratio, coefficient, convolution);
        return {sum, ratio};
    }

    double coefficient;
    const pairwise::Convolution& convolution;
};

// Says what a row's sums contribute.
struct DensityWeights {
    DensityWeights(const ScoreForm& form, double bandwidth, size_t dimensions, size_t rows) {
        const double others = rows - 1, d = dimensions;
        double peak, peak_of_wide;
        if (form.kernel == pairwise::kernel_of<pairwise::Gaussian>) {
            const double variance = bandwidth * bandwidth;
            peak = std::pow(2 * std::numbers::pi * variance, -0.5 * d);
            peak_of_wide = std::pow(2 * std::numbers::pi * (2 * variance), -0.5 * d);
        } else {
            peak = std::exp(-facts_of(form.kernel).log_volume(bandwidth, d));
            peak_of_wide = std::exp(form.convolution->log_peak() - d * std::log(bandwidth));
        }
        constant = peak_of_wide / others;
        wide = constant * (others - 1) / others;
        narrow = -2 * peak / others;
    }
    // Takes the sums of φ/φ(0) and of K_h/K_h(0).
    double term(double convolved, double weights) const { return constant + wide * convolved + narrow * weights; }

    double constant, wide, narrow;
};

template <class Shape>
class KdeScore : public LeaveOneOutSum<WeightedTargets, ConvolvedWeight<Shape>> {
  public:
    // `typical_sum` is about the mean over the rows of the sums of φ/φ(0), or 0. What a row with fewer neighbours adds
    // to the score need not be known as well.
    KdeScore(const VarianceTree& tree, const ScoreForm& form, const Bandwidths& bandwidths, double typical_sum)
        : LeaveOneOutSum<WeightedTargets, ConvolvedWeight<Shape>>(
              tree, {pairwise::coefficient<Shape>(bandwidths.x), *form.convolution}, {1024, true, 192, typical_sum}),
          weights_(form, bandwidths.x, tree.rows().dimensions, tree.size()) {}

    double term(const LeaveOneOut&, const WeightedTargets::Total& total) const {
        return weights_.term(total.weights, total.products);
    }
    bool remarkable(const LeaveOneOut&, const WeightedTargets::Total& total) const { return total.weights == 0; }

  private:
    DensityWeights weights_;
};

} // namespace btml::monte_carlo
