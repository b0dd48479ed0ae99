// One observation more or less in a trained model.
#pragma once

#include "core/gp/model.hpp"

namespace btml::gp {

// Features whose number lies outside of the training rows' range, by position.
std::vector<size_t> features_outside(const Model& model, std::span<const double> features);

// Exact for every member: the kernels, the noise, the scale of the target and the weights of the members stay as
// trained. The observation has weight 1; features as Predictor takes them. Updates the number of rows and the log
// likelihood, and drops the leave-one-out coverage. False, and nothing changes, for a point outside under
// Outside::prior, which has covariance 0 with every other. Errors: invalid_argument for a target that is not finite, a
// feature whose value no training row can be compared with (a NULL or a category that none has), naming it, or an
// observation to remove that cannot be in the model.
bool insert(Model& model, std::span<const double> features, double target);
bool remove(Model& model, std::span<const double> features, double target);

} // namespace btml::gp
