// Joint draws of the latent function at chosen points.
#pragma once

#include "core/gp/joint_posterior.hpp"
#include "core/gp/model.hpp"

namespace btml::gp {

class Sampler {
  public:
    // `values` has the features of one point after the other, as Predictor takes them. Nothing is kept of either.
    Sampler(const Model& model, std::span<const double> values, RunContext& context);

    size_t points() const noexcept { return points_; }
    // Draw number `draw`, in the target's units: of a mixture, from one member that is chosen with its probability. A
    // function of (seed, draw) and the set of points.
    void draw(uint64_t seed, uint64_t draw, std::span<double> target) const;

  private:
    size_t points_;
    double centre_, scale_;
    std::vector<double> weights_;            // of the members
    std::vector<JointPosterior> posteriors_; // of the members
};

} // namespace btml::gp
