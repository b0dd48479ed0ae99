// How sure coefficients are.
#pragma once

#include "core/linear/likelihood.hpp"

namespace btml::linear {

// Fills in the standard errors and the covariance of a model that has all else. matrix: the lower triangle of the
// expected curvature at the coefficients. squares: what RowLikelihood::squared_slopes returns, for robust errors.
// Robust errors come from sandwiches of n rows and k coefficients. They are multiplied by n/(n − k) (HC1), or by
// G/(G − 1)·(n − 1)/(n − k) where the rows are in G clusters.
void fill_errors(Model& model, const Likelihood& likelihood, Buffer<double> matrix,
                 std::optional<Buffer<double>> squares);

} // namespace btml::linear
