// Says how well a sum of kernels predicts each row from all the others.
//
// Without row i its residual is α_i/(K⁻¹)_ii, and the variance of that 1/(K⁻¹)_ii (Rasmussen, Williams: Gaussian
// Processes for Machine Learning, Equation 5.12). That holds for α = K⁻¹y. Where α is not quite that, the prediction of
// a row is off by what its equation is off, y_i − (Kα)_i, which the residual of the row then has, too: an error in the
// direction of a large eigenvalue hardly shows in α.
#pragma once

#include "core/gp/additive/additive_covariance.hpp"
#include "core/gp/tree/leave_one_out.hpp"

namespace btml::gp {

class SumScorer {
  public:
    // Keeps references. Solutions for the targets, α, in the first column of `first`; for samples of observations in
    // all others of both; and y − Kα.
    SumScorer(const Block& first, const Block& second, std::span<const float> errors, RunContext& context)
        : first_(first), second_(second), errors_(errors), context_(context) {}

    // Errors are on the scale of the targets given, and come from estimates of the diagonal of K⁻¹ by 31 samples.
    uncertainty::StandardisedErrors errors(double calibration) const;
    double calibration() const;

  private:
    // Holds an estimate of (K⁻¹)_ii, and one whose reciprocal is without bias to the order of 1/solutions: the more the
    // squares scatter, the larger it is. Where noise dominates they do not, being those of random signs.
    struct InverseDiagonal {
        double mean, of_reciprocal;
    };
    InverseDiagonal inverse_diagonal(size_t row) const;

    const Block &first_, &second_;
    const std::span<const float> errors_;
    RunContext& context_;
};

} // namespace btml::gp
