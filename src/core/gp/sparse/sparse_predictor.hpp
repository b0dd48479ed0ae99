// Predicts at many points with a sparse process, by all threads or on a device.
#pragma once

#include "core/gp/sparse/quadratic_forms.hpp"

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

} // namespace btml::gp
