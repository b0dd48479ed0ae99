// Positive amounts whose deviation grows with their mean e^F.
#include "core/boosting/objectives/derived_scores.hpp"

namespace btml::boosting {

namespace {

constexpr ObjectiveFacts gamma_facts{
    .link = Link::exponential,
    .metrics = {HoldoutMetric::rmse, HoldoutMetric::mae, HoldoutMetric::poisson_deviance},
    .lightgbm = {{"gamma", Link::exponential}},
    .xgboost = {{"reg:gamma", Link::exponential}},
    .is_without_unit = true,
    .default_max_step = 1.5};

constexpr DerivedLoss gamma_loss{[](DerivativeBlock& block, const LossOptions&) { derive_gamma(block); },
                                 [](double target) { return target > 0; }, "positive numbers", logarithm_of_mean};

} // namespace

const Objective& gamma_objective() {
    static constinit const DerivedObjective objective(gamma_facts, gamma_loss);
    return objective;
}

} // namespace btml::boosting
