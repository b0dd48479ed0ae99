// A trained gp with a smooth kernel that goes by inducing points, for prediction.
#pragma once

#include "core/gp/sparse/coordinates.hpp"
#include "core/gp/sparse/smooth_kernel.hpp"
#include "core/gp/tree/tree_kernel.hpp"

#include <optional>

namespace btml::gp {

class SparseModel {
  public:
    static constexpr size_t max_inducing_points = 5'000;

    // Targets are standardised. At x, whose covariances with the K inducing points are k, the latent function has the
    // mean k'·solution and the variance signal − k'·reduction·k.
    struct Parts {
        Coordinates coordinates;
        SmoothKernel kernel;
        Buffer<double> inducing;  // K × width coordinates
        Buffer<double> solution;  // K
        Buffer<double> reduction; // K × K, symmetric
        // Holds a lower bound on the rows' log marginal likelihood, in nats; nothing after an update.
        std::optional<double> log_likelihood;

        size_t inducing_points() const { return solution.size(); }
    };

    SparseModel(Parts parts, RunContext& context);

    // Features as Predictor takes them. O(K²). Not thread-safe (scratch space).
    Normal latent(std::span<const double> features);
    // Means and covariances of points, a row of features each: count × count numbers. Points unlike all rows have the
    // prior's.
    void joint(std::span<const double> features, size_t count, double* means, double* covariances, RunContext& context);

    const SmoothKernel& kernel() const noexcept { return parts_.kernel; }
    const Coordinates& coordinates() const noexcept { return parts_.coordinates; }
    size_t inducing_points() const noexcept { return parts_.inducing_points(); }
    std::optional<double> log_likelihood() const noexcept { return parts_.log_likelihood; }
    // Adds an observation, or takes one away. The target is standardised, the weight as rows have it; inducing points
    // and kernel stay as they are. False, with nothing changed, where an observation to take away weighs more than one
    // that the gp has could. O(K³).
    bool condition_on(std::span<const double> features, double target, double weight, bool more, RunContext& context);
    // By feature, how much of the prior variance points do not share that are a standard deviation, or a category,
    // apart.
    std::vector<double> relevance() const;
    const Parts& parts() const noexcept { return parts_; }

    // 4·K·(K + 1) and 8·K·(width + 1) bytes and a few. decode checks every number once: error corrupt_model.
    void encode(Writer& writer) const;
    static SparseModel decode(Reader& reader, const std::vector<Feature>& features, RunContext& context);

  private:
    // Writes the covariances with the inducing points; false where all are 0.
    bool find_covariances_of(std::span<const double> features, double* point, double* to);
    void find_covariances_at(const double* point, const double* others, size_t count, double* to);

    Parts parts_;
    Buffer<double> scaled_; // the inducing points in units of length scales
    std::vector<double> group_, values_, point_, covariances_, reduced_;
};

} // namespace btml::gp
