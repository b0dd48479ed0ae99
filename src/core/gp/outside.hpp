// How much the latent function beyond the ends of training ranges has to do with that at the nearest point within them.
//
// f(x) = ρ f(e) + √(1 − ρ²) g(x), with e the nearest point within the ranges and g as f is before any observation, of
// its own at each place. The share 1 − ρ of the variance that is lost is that of two points within the range which lie
// as far apart in one feature, on average over where they lie: at a distance of δ ranges their cells of width 2^−b
// differ with probability min(1, δ·2^b), and from the first bit in which they differ on they share no level. So nothing
// jumps, and a range beyond, all is lost. With several features outside, ρ is the product.
//
// The mean of that, ρ times the one at e, would turn back to the prior's at once, where a trend goes on. So (1 − δ)
// times the one at e is predicted, and the variance is the mean square about that.
#pragma once

#include "core/gp/gp_model.hpp"

namespace btml::gp {

struct Nearness {
    double mean = 1;        // 1 − δ, or the product of such
    double correlation = 1; // ρ, at most as great

    // Returns the variance of what is g's.
    double rest(double signal) const { return (1 - correlation * correlation) * signal; }
};

// The mean that trees predict is the same all the way beyond an end. It goes back to that of the targets, too, and its
// variance grows: by 6δ of what it varies by the feature, as far as the differences of a random walk grow, within the
// range of which the mean square about its mean is a sixth of that of the whole way.
class OutsideScale {
  public:
    // Under Outside::clamp, and of a smooth kernel, which has its own distances, nothing is lost.
    explicit OutsideScale(const Model& model);

    // Takes features as Predictor does.
    Nearness nearness(std::span<const double> features) const;
    // Returns where the model's trees place observations at a point; all in the target's units.
    Placement place(Model& model, std::span<const double> features) const;

  private:
    struct OfFeature {
        size_t feature;
        std::shared_ptr<const NumberScale> scale;
        std::vector<double> lost; // share of the variance that points do not share which differ from this bit on
        double of_trees;          // share of what the trees' mean varies
    };

    Nearness nearness_of_trees(std::span<const double> features) const;

    std::vector<OfFeature> features_; // numbers
    double variance_of_trees_ = 0;
};

// Returns the variance before any observation, of each member by itself, or of a sum with its calibration.
std::vector<double> signals(const Model& model);

// Returns what is known at a point as near to one where `at` is known; `signal` is the variance before any observation.
inline Normal beyond(const Normal& at, const Nearness& near, double signal) {
    const double turn = (near.mean - near.correlation) * at.mean;
    return {near.mean * at.mean, near.correlation * near.correlation * at.variance + near.rest(signal) + turn * turn};
}

} // namespace btml::gp
