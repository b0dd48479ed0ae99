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

class Gamma final : public DerivedObjective {
  public:
    constexpr Gamma() : DerivedObjective(gamma_facts) {}
    void derive(DerivativeBlock& block, const LossOptions&) const override { derive_gamma(block); }
    bool holds(double target) const override { return target > 0; }
    const char* valid_targets() const override { return "positive numbers"; }
    double base(double mean, uint64_t rows) const override { return logarithm_of_mean(mean, rows); }
};

} // namespace

const Objective& gamma_objective() {
    static constinit const Gamma objective;
    return objective;
}

} // namespace btml::boosting
