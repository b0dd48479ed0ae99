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

class Tweedie final : public DerivedObjective {
  public:
    constexpr Tweedie() : DerivedObjective(tweedie_facts) {}
    void derive(DerivativeBlock& block, const LossOptions& options) const override {
        derive_tweedie(block, options.power);
    }
    bool holds(double target) const override { return target >= 0 && target <= max_target; }
    const char* valid_targets() const override { return "numbers from 0 to 1e30"; }
    double base(double mean, uint64_t rows) const override { return logarithm_of_mean(mean, rows); }
};

} // namespace

const Objective& tweedie_objective() {
    static constinit const Tweedie objective;
    return objective;
}

} // namespace btml::boosting
