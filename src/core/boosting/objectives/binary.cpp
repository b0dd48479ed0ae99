// One of two labels, or a share: the probability of the second label is 1 / (1 + e^−F).
#include "core/boosting/objectives/derived_scores.hpp"

namespace btml::boosting {

namespace {

// The share of either label is at least that of half a row.
double logit_of_mean(double mean, uint64_t rows) {
    const double least = 0.5 / static_cast<double>(rows), share = std::clamp(mean, least, 1 - least);
    const double base = logarithm(share / (1 - share));
    if (mean == 0 || mean == 1) throw DegenerateTarget::of_number(mean, base);
    return base;
}

constexpr DerivedLoss binary_loss{[](DerivativeBlock& block, const LossOptions&) { derive_binary(block); },
                                  [](double target) { return target >= 0 && target <= 1; }, "0, 1 and what is between",
                                  logit_of_mean};

} // namespace

constinit const Objective binary_objective{
    .link = Link::logistic,
    .metrics = {HoldoutMetric::log_loss, HoldoutMetric::brier, HoldoutMetric::accuracy, HoldoutMetric::auc,
                HoldoutMetric::average_precision},
    .lightgbm = {{"binary", Link::logistic, true}, {"cross_entropy", Link::logistic}},
    .xgboost = {{"binary:logistic", Link::logistic, true}, {"reg:logistic", Link::logistic}},
    .takes_labels = true,
    .is_without_unit = true,
    .default_max_step = 4,
    .start = start_single_scores,
    .bytes_of_row = single_score_bytes,
    .loss = &binary_loss};

} // namespace btml::boosting
