// Counts: the mean is e^F.
#include "core/boosting/objectives/derived_scores.hpp"

namespace btml::boosting {

namespace {

constexpr HoldoutMetric poisson_metrics[] = {HoldoutMetric::poisson_deviance, HoldoutMetric::rmse, HoldoutMetric::mae};
constexpr ForeignObjective poisson_in_lightgbm[] = {{"poisson", Link::exponential}};
constexpr ForeignObjective poisson_in_xgboost[] = {{"count:poisson", Link::exponential}};
constexpr ObjectiveFacts poisson_facts{.link = Link::exponential,
                                       .metrics = poisson_metrics,
                                       .lightgbm = poisson_in_lightgbm,
                                       .xgboost = poisson_in_xgboost,
                                       .is_without_unit = true,
                                       .default_max_step = 0.7};

class Poisson final : public DerivedObjective {
  public:
    constexpr Poisson() : DerivedObjective(poisson_facts) {}
    void derive(DerivativeBlock& block, const LossOptions&) const override { derive_poisson(block); }
    bool holds(double target) const override { return target >= 0 && target <= max_target; }
    const char* valid_targets() const override { return "numbers from 0 to 1e30"; }
    double base(double mean, uint64_t rows) const override { return logarithm_of_mean(mean, rows); }
};

} // namespace

const Objective& poisson_objective() {
    static constinit const Poisson objective;
    return objective;
}

} // namespace btml::boosting
