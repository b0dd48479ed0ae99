// Derivatives of losses by the score, and the losses, for blocks of rows side by side. Inputs are doubles, results are
// floats: what they round is far below what a sample says of a gradient, and a weight that is a small whole number
// gives the product that so many copies of the row add up to.
#pragma once

#include "core/base/levels.hpp"
#include "core/numbers/elementary.hpp"

namespace btml::boosting {

inline constexpr size_t derivative_block = 1024; // rows, a multiple of lanes

struct DerivativeBlock {
    size_t rows;                                   // entries behind the last row are finite up to a multiple of lanes
    alignas(64) double scores[derivative_block];   // F
    alignas(64) double targets[derivative_block];  // y
    alignas(64) float residuals[derivative_block]; // −∂L/∂F
    alignas(64) float hessians[derivative_block];  // what a Newton step divides by
    alignas(64) float losses[derivative_block];    // L
};

// L = e^F − yF. The hessian is e^0.7 times the second derivative, so that steps up are no larger than .7 can justify.
BTML_DISPATCH(void, derive_poisson, (DerivativeBlock & block), (block));
// L = F + y·e^−F
BTML_DISPATCH(void, derive_gamma, (DerivativeBlock & block), (block));
// L = −y·e^((1−ρ)F)/(1−ρ) + e^((2−ρ)F)/(2−ρ), 1 < ρ < 2
BTML_DISPATCH(void, derive_tweedie, (DerivativeBlock & block, double power), (block, power));
// L = ln(1 + e^F) − yF, 0 ≤ y ≤ 1
BTML_DISPATCH(void, derive_binary, (DerivativeBlock & block), (block));
// Adds e^(score − largest) to sums.
BTML_DISPATCH(void, add_exponentials, (const double* scores, const double* largest, size_t rows, double* sums),
              (scores, largest, rows, sums));
// to[i] = largest[i] + ln sums[i]
BTML_DISPATCH(void, take_logarithms, (const double* largest, const double* sums, size_t rows, double* to),
              (largest, sums, rows, to));

} // namespace btml::boosting
