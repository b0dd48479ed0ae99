// Densities of mixtures of Gaussians.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

namespace btml::gp {

// log(e^a + e^b).
inline double log_of_sum(double a, double b) {
    const double most = std::max(a, b);
    return most == -std::numeric_limits<double>::infinity() ? most : most + std::log1p(std::exp(-std::abs(a - b)));
}

// At one point, component by component.
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

// P(x < at) of one Gaussian.
inline double normal_distribution(double mean, double variance, double at) {
    return std::erfc((mean - at) / std::sqrt(2 * variance)) / 2;
}

} // namespace btml::gp
