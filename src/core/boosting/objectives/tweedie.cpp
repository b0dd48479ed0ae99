// Amounts that are often 0: the mean is e^F, the variance grows with its power.
#include "core/boosting/objectives/derived_scores.hpp"

namespace btml::boosting {

namespace {

constexpr DerivedLoss tweedie_loss{
    [](DerivativeBlock& block, const LossOptions& options) { derive_tweedie(block, options.power); },
    [](double target) { return target >= 0 && target <= max_target; }, "numbers from 0 to 1e30", logarithm_of_mean};

} // namespace

constinit const Objective tweedie_objective{
    .link = Link::exponential,
    .metrics = {HoldoutMetric::rmse, HoldoutMetric::mae, HoldoutMetric::poisson_deviance},
    .lightgbm = {{"tweedie", Link::exponential}},
    .xgboost = {{"reg:tweedie", Link::exponential}},
    .takes_power = true,
    .default_max_step = 1.5,
    .start = start_single_scores,
    .bytes_of_row = single_score_bytes,
    .loss = &tweedie_loss};

} // namespace btml::boosting
