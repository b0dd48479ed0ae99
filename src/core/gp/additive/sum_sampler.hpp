// Makes joint draws of the latent function of a sum of kernels.
//
// Draws by Matheron's rule: a draw of the prior at rows and points together, s, with noisy observations o of its own at
// the rows, becomes s − K(·, X)K⁻¹o + the mean, which has the mean and the covariances of the posterior. Sixteen draws
// share the solution of their systems, which goes as far as that of the model.
#pragma once

#include "core/gp/additive/conjugate_gradients.hpp"
#include "core/gp/additive/sum_model.hpp"

namespace btml::gp {

class SumSampler {
  public:
    // `values` has the features of one point after the other; all their levels must be known. Keeps a reference to the
    // model.
    SumSampler(SumModel& model, std::span<const double> values, RunContext& context);

    size_t points() const noexcept { return means_.size(); }
    double mean(size_t point) const { return means_[point]; }
    // Draw number `draw`, with the model's calibration; a function of (seed, draw) and the points. Draws of one seed in
    // their order cost a sixteenth of what each alone does. Error limit_exceeded where the draw's system is not solved.
    void draw(uint64_t seed, uint64_t draw, std::span<double> values);

  private:
    void solve(uint64_t seed, uint64_t block);
    void require_solved(uint64_t draw) const;

    const SumModel::Parts& parts_;
    RunContext& context_;
    ThreadTeam team_;
    Buffer<double> means_;
    AdditiveCovariance observed_, all_; // of the rows; of the rows, then the points
    ConjugateGradients solver_;
    Block sample_, product_; // by row and point; of the points, draws of the block less the mean at last
    ColumnValues residuals_{};
    uint64_t seed_ = 0, block_ = UINT64_MAX;
};

} // namespace btml::gp
