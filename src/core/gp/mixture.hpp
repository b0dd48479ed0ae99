// Densities of mixtures of Gaussians, and scores by them.
#pragma once

#include "core/gp/gp_model.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace btml::gp {

// Returns log(e^a + e^b).
inline double log_of_sum(double a, double b) {
    const double most = std::max(a, b);
    return most == -std::numeric_limits<double>::infinity() ? most : most + std::log1p(std::exp(-std::abs(a - b)));
}

// Adds up the density at one point, component by component.
class MixtureDensity {
  public:
    void add(double weight, double mean, double variance, double at) {
        const double difference = at - mean;
        log_ = log_of_sum(
            log_, std::log(weight) -
                      (difference * difference / variance + std::log(variance) + std::log(2 * std::numbers::pi)) / 2);
    }
    double log() const { return log_; }

  private:
    double log_ = -std::numeric_limits<double>::infinity();
};

// Returns P(x < at) of one Gaussian.
inline double normal_distribution(double mean, double variance, double at) {
    return std::erfc((mean - at) / std::sqrt(2 * variance)) / 2;
}

// Collects scores of leave-one-out predictions, member by member.
class LeaveOneOutScore {
  public:
    LeaveOneOutScore(size_t rows, RunContext& context);

    // Latent predictions of a member and observations, both in an order of its own; row[i] is the row that they are of.
    void add(double member_weight, const Normals& latent, const Observations& sorted, double noise,
             std::span<const uint32_t> row, RunContext& context);
    // Takes the targets by row.
    LeaveOneOut total(std::span<const double> target, RunContext& context) const;
    // Returns the errors by the mixture's means and variances.
    uncertainty::StandardisedErrors errors(std::span<const double> target, RunContext& context) const;

  private:
    Buffer<double> mean_, log_density_;
    Buffer<double> below_;    // probability of a smaller target
    Buffer<double> variance_; // times the weight of the members so far
    double weight_ = 0;       // of these
};

} // namespace btml::gp
