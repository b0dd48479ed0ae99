// Positive amounts whose deviation grows with their mean e^F.
#include "core/boosting/objectives/derived_scores.hpp"

namespace btml::boosting {

namespace {

constexpr DerivedLoss gamma_loss{[](DerivativeBlock& block, const LossOptions&) { derive_gamma(block); },
                                 [](double target) { return target > 0; }, "positive numbers", logarithm_of_mean};

} // namespace

constinit const Objective gamma_objective{
    .link = Link::exponential,
    .metrics = {HoldoutMetric::rmse, HoldoutMetric::mae, HoldoutMetric::poisson_deviance},
    .lightgbm = {{"gamma", Link::exponential}},
    .xgboost = {{"reg:gamma", Link::exponential}},
    .is_without_unit = true,
    .default_max_step = 1.5,
    .start = start_single_scores,
    .bytes_of_row = single_score_bytes,
    .loss = &gamma_loss};

} // namespace btml::boosting
