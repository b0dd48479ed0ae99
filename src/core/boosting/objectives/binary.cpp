// One of two labels, or a share: the probability of the second label is 1 / (1 + e^−F).
#include "core/boosting/objectives/derived_scores.hpp"

namespace btml::boosting {

namespace {

constexpr HoldoutMetric binary_metrics[] = {HoldoutMetric::log_loss, HoldoutMetric::brier, HoldoutMetric::accuracy,
                                            HoldoutMetric::auc, HoldoutMetric::average_precision};
constexpr ForeignObjective binary_in_lightgbm[] = {{"binary", Link::logistic, true}, {"cross_entropy", Link::logistic}};
constexpr ForeignObjective binary_in_xgboost[] = {{"binary:logistic", Link::logistic, true},
                                                  {"reg:logistic", Link::logistic}};
constexpr ObjectiveFacts binary_facts{.link = Link::logistic,
                                      .metrics = binary_metrics,
                                      .lightgbm = binary_in_lightgbm,
                                      .xgboost = binary_in_xgboost,
                                      .takes_labels = true,
                                      .is_without_unit = true,
                                      .default_max_step = 4};

class Binary final : public DerivedObjective {
  public:
    constexpr Binary() : DerivedObjective(binary_facts) {}
    void derive(DerivativeBlock& block, const LossOptions&) const override { derive_binary(block); }
    bool holds(double target) const override { return target >= 0 && target <= 1; }
    const char* valid_targets() const override { return "0, 1 and what is between"; }
    // The share of either label is at least that of half a row.
    double base(double mean, uint64_t rows) const override {
        const double least = 0.5 / static_cast<double>(rows), share = std::clamp(mean, least, 1 - least);
        const double base = logarithm(share / (1 - share));
        if (mean == 0 || mean == 1) throw DegenerateTarget::of_number(mean, base);
        return base;
    }
};

} // namespace

const Objective& binary_objective() {
    static constinit const Binary objective;
    return objective;
}

} // namespace btml::boosting
