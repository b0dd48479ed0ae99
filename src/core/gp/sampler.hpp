// Makes joint draws of the latent function at chosen points.
#pragma once

#include "core/gp/additive/sum_sampler.hpp"
#include "core/gp/outside.hpp"
#include "core/gp/tree/joint_posterior.hpp"

namespace btml::gp {

class Sampler {
  public:
    // `values` has the features of one point after the other, as Predictor takes them. Of a mixture nothing is kept, to
    // a sum a reference. Errors: invalid_argument, of a sum, for a point with a value that it has no bits for, naming
    // the feature.
    Sampler(Model& model, std::span<const double> values, RunContext& context);

    size_t points() const noexcept { return points_; }
    // Draw number `draw`, in the target's units: of a mixture, from one member that is chosen with its probability. A
    // function of (seed, draw) and the set of points.
    void draw(uint64_t seed, uint64_t draw, std::span<double> target);

  private:
    size_t points_;
    double centre_, scale_;
    double variance_factor_;                 // of the calibration
    std::vector<double> weights_;            // of the members
    std::vector<JointPosterior> posteriors_; // of the members
    struct Beyond {
        Nearness near;
        uint64_t place; // a hash of the features
    };

    void factor_covariances(SparseModel& model, std::span<const double> values, RunContext& context);
    double mean(size_t member, size_t point) const;
    double mean(size_t point) const; // of all members
    void go_beyond(uint64_t seed, uint64_t draw, size_t member, std::span<double> values) const;

    std::vector<double> signals_;       // of the members, or of a sum
    std::vector<Beyond> beyond_;        // of the points
    std::vector<Placement> placements_; // of the points
    std::unique_ptr<SumSampler> sum_;
    // Of a sparse gp: means at the points, and L with LL' their covariances.
    Buffer<double> means_, factor_;
};

} // namespace btml::gp
