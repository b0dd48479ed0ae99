// Learns a noise that differs from point to point. A second gp is of ln(z² + m²)/s, where z is what the first one
// is off at a row given the others, over its deviation, m their median magnitude, and s the mean slope of the logarithm
// by ln z²; e to what it predicts says by how much the noise there is greater than elsewhere (Goldberg, Williams,
// Bishop: Regression with Input-Dependent Noise, 1998; Kersting et al.: Most Likely Heteroscedastic Gaussian Process
// Regression, 2007). The first gp is then trained again, with rows that weigh the less the noisier they are. What
// a row's own target says of its noise does not count.
#pragma once

#include "core/gp/trainer.hpp"

namespace btml::gp {

// Trains a gp as Trainer does and, where the options ask for it, lets its noise vary; where that does not score
// clearly better, a warning says so, and the noise is the same everywhere. The score is of Trained::score.
Trained fit_gp(FitRows rows, const std::vector<Feature>& features, const Options& options, const FitMemory& estimate,
               RunContext& context);

} // namespace btml::gp
