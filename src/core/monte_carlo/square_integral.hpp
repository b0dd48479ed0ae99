// Integrates a mixture of normal densities g(y) = Σ_j weight_j N(y − y_j; 0, h²) in one dimension. ∫ g² is taken by
// the trapezoid rule with steps of h/2, whose error is 1e-14 relative to (Σ|weight|)²/h; places further than 8h from
// every target are left out, so that the time is linear in the number of targets.
#pragma once

#include "core/base/buffer.hpp"
#include "core/pairwise/normal_cells.hpp"

#include <array>
#include <span>
#include <vector>

namespace btml::monte_carlo {

struct WeightedTarget {
    double target, weight;
};

struct MixtureIntegrals {
    double square; // is ∫ g(y)² dy
    double value;  // is g at one place

    // Returns what a row adds to S_KCDE, where the weights of g add up to this and are to be divided by it.
    double term(double weights) const { return (square / weights - 2 * value) / weights; }
};

// Targets are rounded to h/256. Working memory, kept for the thread, makes it not reentrant.
MixtureIntegrals mixture_integrals(std::span<const WeightedTarget> targets, double at, double h);

// Does the same for many mixtures of the same targets.
class NormalCells {
  public:
    // `targets` are in ascending order and must outlive this.
    NormalCells(std::span<const double> targets, double h, RunContext& context);

    // Returns the number of places at which the density is taken.
    size_t size() const { return size_; }
    // For mixtures with weights at `weights`, each `stride` after the one before; `value` is that at the target of row
    // `at`, `at` + 1 and so on. `density` is working memory of size() numbers for each.
    using Some = std::array<MixtureIntegrals, pairwise::mixtures>;
    Some integrals(const double* weights, size_t stride, size_t at, double* density) const;

  private:
    const std::span<const double> targets_;
    const double h_;
    size_t size_ = 0;
    Buffer<uint32_t> first_; // is the first place that each target reaches
    Buffer<double> values_;  // are what it adds there and at the places that follow
};

} // namespace btml::monte_carlo
