// Positive amounts whose deviation grows with their mean e^F.
#include "core/boosting/objectives/derived_scores.hpp"

namespace btml::boosting {

namespace {

constexpr HoldoutMetric gamma_metrics[] = {HoldoutMetric::rmse, HoldoutMetric::mae, HoldoutMetric::poisson_deviance};
constexpr ForeignObjective gamma_in_lightgbm[] = {{"gamma", Link::exponential}};
constexpr ForeignObjective gamma_in_xgboost[] = {{"reg:gamma", Link::exponential}};
constexpr ObjectiveFacts gamma_facts{.link = Link::exponential,
                                     .metrics = gamma_metrics,
                                     .lightgbm = gamma_in_lightgbm,
                                     .xgboost = gamma_in_xgboost,
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
