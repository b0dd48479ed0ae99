// Counts: the mean is e^F.
#include "core/boosting/objectives/derived_scores.hpp"

namespace btml::boosting {

namespace {

constexpr ObjectiveFacts poisson_facts{
    .link = Link::exponential,
    .metrics = {HoldoutMetric::poisson_deviance, HoldoutMetric::rmse, HoldoutMetric::mae},
    .lightgbm = {{"poisson", Link::exponential}},
    .xgboost = {{"count:poisson", Link::exponential}},
    .is_without_unit = true,
    .default_max_step = 0.7};

constexpr DerivedLoss poisson_loss{[](DerivativeBlock& block, const LossOptions&) { derive_poisson(block); },
                                   [](double target) { return target >= 0 && target <= max_target; },
                                   "numbers from 0 to 1e30", logarithm_of_mean};

} // namespace

const Objective& poisson_objective() {
    static constinit const DerivedObjective objective(poisson_facts, poisson_loss);
    return objective;
}

} // namespace btml::boosting
