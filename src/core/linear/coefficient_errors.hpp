// How sure coefficients are.
#pragma once

#include "core/linear/likelihood.hpp"

namespace btml::linear {

// Fills in the standard errors and the covariance of a model that has all else. matrix: the expected curvature at the
// coefficients, its lower triangle. Robust errors are sandwiches times n/(n − k) (HC1), and of G groups times
// G/(G − 1)·(n − 1)/(n − k); k counts coefficients. Errors: null_value for a group of NULL; invalid_argument for one
// group.
void fill_errors(Model& model, const Likelihood& likelihood, std::span<const double> coefficients,
                 Buffer<double> matrix);

} // namespace btml::linear
