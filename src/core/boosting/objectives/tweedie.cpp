// Amounts that are often 0: the mean is e^F, the variance grows with its power.
#include "core/boosting/objectives/derived_scores.hpp"

namespace btml::boosting {

namespace {

constexpr HoldoutMetric tweedie_metrics[] = {HoldoutMetric::rmse, HoldoutMetric::mae, HoldoutMetric::poisson_deviance};
constexpr ForeignObjective tweedie_in_lightgbm[] = {{"tweedie", Link::exponential}};
constexpr ForeignObjective tweedie_in_xgboost[] = {{"reg:tweedie", Link::exponential}};
constexpr ObjectiveFacts tweedie_facts{.link = Link::exponential,
                                       .metrics = tweedie_metrics,
                                       .lightgbm = tweedie_in_lightgbm,
                                       .xgboost = tweedie_in_xgboost,
                                       .takes_power = true,
                                       .default_max_step = 1.5};

constexpr DerivedLoss tweedie_loss{
    [](DerivativeBlock& block, const LossOptions& options) { derive_tweedie(block, options.power); },
    [](double target) { return target >= 0 && target <= max_target; }, "numbers from 0 to 1e30", logarithm_of_mean};

} // namespace

const Objective& tweedie_objective() {
    static constinit const DerivedObjective objective(tweedie_facts, tweedie_loss);
    return objective;
}

} // namespace btml::boosting
