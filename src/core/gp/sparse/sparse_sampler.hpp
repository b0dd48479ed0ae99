// Joint draws of the latent function of a sparse gp.
#pragma once

#include "core/gp/sparse/sparse_model.hpp"

namespace btml::gp {

class SparseSampler {
  public:
    // `values` has the features of one point after the other. O(points² · (K + points)), 16 · points² bytes.
    SparseSampler(SparseModel& model, std::span<const double> values, size_t points, RunContext& context);

    // A function of (seed, draw) and the points; on the scale of the targets.
    void draw(uint64_t seed, uint64_t draw, std::span<double> to) const;
    double mean(size_t point) const { return means_[point]; }

  private:
    Buffer<double> means_, factor_; // factor_: L, with LL' the covariances
};

} // namespace btml::gp
