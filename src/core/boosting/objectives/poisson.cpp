// Counts: the mean is e^F.
#include "core/boosting/objectives/derived_scores.hpp"

namespace btml::boosting {

namespace {

constexpr DerivedLoss poisson_loss{[](DerivativeBlock& block, const LossOptions&) { derive_poisson(block); },
                                   [](double target) { return target >= 0 && target <= max_target; },
                                   "numbers from 0 to 1e30", logarithm_of_mean};

} // namespace

constinit const Objective poisson_objective{
    .link = Link::exponential,
    .metrics = {HoldoutMetric::poisson_deviance, HoldoutMetric::rmse, HoldoutMetric::mae},
    .lightgbm = {{"poisson", Link::exponential}},
    .xgboost = {{"count:poisson", Link::exponential}},
    .is_without_unit = true,
    .default_max_step = 0.7,
    .start = start_single_scores,
    .bytes_of_row = single_score_bytes,
    .loss = &poisson_loss};

} // namespace btml::boosting
