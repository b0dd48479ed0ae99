// Predicts with a decoded model.
#pragma once

#include "core/gp/outside.hpp"
#include "core/gp/tree/row_sorter.hpp"

#include <functional>

namespace btml::gp {

class Predictor {
  public:
    // Keeps a reference to the model, which must not change in size or place; its sum or sparse gp has scratch
    // space.
    explicit Predictor(Model& model);

    // Takes one value per feature in the model's order: a number, a category's code (as a double; one that the model
    // does not know, or -1, is a category never seen), or null_number. In the target's units. A mixture's mean is Σ p
    // μ, its variance Σ p (s + (μ − mean)²). O(log n + q/64) for each member. Not thread-safe (scratch space).
    Normal latent(std::span<const double> features);
    // Does the same with the noise of an observation of weight 1 at the point. Errors are calibrated in units of it.
    Normal observation(std::span<const double> features);
    // Returns the normal distribution of an observation: the same with the variance calibrated.
    Normal calibrated(Normal observation) const;
    // Returns what that leaves of latent() without the noise, of which the calibration's floor is a part.
    Normal calibrated_latent(Normal latent) const;
    // Holds the mean and the variance of an observation, and the log of its density, nats in the target's units: of the
    // mixture, not of its mean and variance; or of the normal distribution where the variance is calibrated.
    struct Score {
        double log_density, mean, variance;
    };
    Score score(std::span<const double> features, double target, double weight = 1);
    // Returns what Model::noise is to be taken times at the point.
    double noise_factor(std::span<const double> features);

    using Read = std::function<void(size_t i, std::span<double> features)>;
    using Use = std::function<void(size_t i, Predictor& predictor, std::span<const double> features)>;
    // Calls use() for points 0 ≤ i < count in their order, with the features that read() wrote, some points ahead. It
    // may ask the predictor about this point alone: what a smooth kernel says was found already, by SparsePredictor.
    static void for_each_point(Model& model, size_t count, const Read& read, const Use& use, RunContext& context);

  private:
    Normal latent_of(const Mixture& mixture, std::span<const double> features);
    Normal latent_of(SumModel& sum, std::span<const double> features);
    Normal latent_of(SparseModel& sparse, std::span<const double> features) {
        return found_ ? *found_ : sparse.latent(features);
    }
    Normal latent_on_scale(std::span<const double> features);
    Normal in_units(const Normal& at) const;
    std::vector<Predictor*> smooth_ones();

    Model& model_;
    std::vector<PointEncoder> encoders_; // of the members
    std::vector<Normal> latent_;         // of the members, on the scale
    OutsideScale outside_;
    std::vector<double> signals_;     // of the members, or of a sum
    Nearness near_;                   // of the last point
    Placement placement_;             // of the last point
    std::vector<Predictor> of_noise_; // one where the noise varies
    const Normal* found_ = nullptr;   // of a sparse gp, at the point of for_each_point()
};

} // namespace btml::gp
