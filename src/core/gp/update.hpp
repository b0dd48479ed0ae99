// Adds one observation to a trained model, or removes one.
#pragma once

#include "core/gp/gp_model.hpp"

namespace btml::gp {

// Features whose number lies outside of the training rows' range, by position.
std::vector<size_t> features_outside(const Model& model, std::span<const double> features);

// The trees of the mean, the kernels, the noise and how it varies, the scale of the target, the weights and
// calibrations of the members stay as trained; the observation has weight 1; features as Predictor takes them. A
// mixture: exact, O(depth) for each member. A sum: its systems are solved again, as far as in training, O(n · members)
// an iteration. Updates the number of rows and the log likelihood, and drops the leave-one-out coverage. Under
// Outside::prior an observation outside counts as one at the nearest point within the ranges, of less weight, and where
// that is next to nothing the answer is false, and nothing changes. Errors: invalid_argument for a target that is not
// finite, a feature whose value no training row can be compared with (a NULL or a category that none has), naming it,
// or an observation to remove that cannot be in the model or, but for a mixture, is the only one; out_of_range for a
// target more than 1e15 standard deviations from the mean of the training rows; limit_exceeded for a sum whose systems
// are not solved. After an error the model is not to be used.
bool insert(Model& model, std::span<const double> features, double target, RunContext& context);
bool remove(Model& model, std::span<const double> features, double target, RunContext& context);

} // namespace btml::gp
