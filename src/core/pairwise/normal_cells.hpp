// Adds normal densities that are known at steps of a grid.
#pragma once

#include "core/base/levels.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace btml::pairwise {

inline constexpr double steps_per_bandwidth = 2;
inline constexpr double radius = 8;                                                    // in bandwidths
inline constexpr size_t cells = static_cast<size_t>(2 * radius * steps_per_bandwidth); // that one target reaches

// Adds the values of one target's cells, weighted.
BTML_DISPATCH(void, add_scaled, (const double* values, double weight, double* to), (values, weight, to));
// Adds those of all targets, from first[j] on, to the densities of several mixtures of them: each has its own weights.
inline constexpr size_t mixtures = 4;
struct Mixture {
    const double* weights;
    double* density;
};
BTML_DISPATCH(void, add_cells,
              (const Mixture (&to)[mixtures], size_t targets, const uint32_t* first, const double* values),
              (to, targets, first, values));
// Returns Σ_j weights[j] · exp(−((targets[j] − at) / h)² / 2).
BTML_DISPATCH(double, weighted_normals,
              (std::span<const double> weights, std::span<const double> targets, double at, double h),
              (weights, targets, at, h));

} // namespace btml::pairwise
