// Rows as FITC sees them, whose function values are independent of each other given those at the inducing points: what
// these leave of a row's variance counts as its noise. (Snelson and Ghahramani, Sparse Gaussian Processes using
// Pseudo-inputs, 2006.)
#pragma once

#include "core/gp/sparse/collapsed.hpp"

namespace btml::gp {

class FitcRows {
  public:
    // Keeps references to the rows' points, targets and weights. O(n·K²).
    FitcRows(const SmoothKernel& kernel, std::span<const double> inducing, const SmoothRows& rows, ThreadTeam& team,
             RunContext& context);

    // Returns the rows with weights w' by which σ²/w' = σ²/w + v, for the noise σ² and the row's conditional variance
    // v. They last until the next call.
    SmoothRows under(double noise);

  private:
    RunContext& context_;
    const SmoothRows rows_;
    const Buffer<double> variances_;
    Buffer<double> weights_;
};

} // namespace btml::gp
