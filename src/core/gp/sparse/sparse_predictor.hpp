// Predicts at many points with a sparse gp, by all threads or on a device; rows of the training from the others.
#pragma once

#include "core/gp/sparse/quadratic_forms.hpp"
#include "core/uncertainty/calibration.hpp"

namespace btml::gp {

class SparsePredictor {
  public:
    static constexpr size_t max_points = QuadraticForms::max_rows; // at a time

    // Keeps references. points: so many are to come in all.
    SparsePredictor(const SparseModel& model, size_t points, ThreadTeam& team, RunContext& context);

    // Writes what SparseModel::latent() says of points, max_points at most, whose features lie point by point; last
    // digits may differ.
    void find(std::span<const double> features, std::span<Normal> to);

  private:
    const SparseModel::Parts& parts_;
    Buffer<double> coordinates_, targets_, weights_;
    QuadraticForms forms_;
};

// The rows are some of those that the gp was trained on; inducing points and kernel stay what they are without a
// row. Returns errors and deviations in the order of the rows. inverse: K × K, (K_uu + Φ/σ²)⁻¹. O(rows · K²).
uncertainty::StandardisedErrors leave_rows_out(const SparseModel::Parts& parts, const Buffer<double>& inverse,
                                               const SmoothRows& rows, ThreadTeam& team, RunContext& context);

} // namespace btml::gp
