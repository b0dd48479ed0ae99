// How sure coefficients are.
#pragma once

#include "core/linear/likelihood.hpp"

namespace btml::linear {

// Fills in the standard errors and the covariance of a model that has all else. matrix: the expected curvature at the
// coefficients, its lower triangle. squares, of robust errors: as of RowLikelihood::squared_slopes. These are
// sandwiches times n/(n − k) (HC1), and of the model's G groups times G/(G − 1)·(n − 1)/(n − k); k counts coefficients.
void fill_errors(Model& model, const Likelihood& likelihood, Buffer<double> matrix,
                 std::optional<Buffer<double>> squares);

} // namespace btml::linear
