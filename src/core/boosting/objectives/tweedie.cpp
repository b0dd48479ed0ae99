// Amounts that are often 0: the mean is e^F, the variance grows with its power.
#include "core/boosting/objectives/derived_scores.hpp"
#include "core/boosting/objectives/objective_table.hpp"

namespace btml::boosting {

namespace {

class Tweedie final : public DerivedObjective {
  public:
    std::optional<double> default_max_step() const override { return 1.5; }
    Link link() const override { return Link::exponential; }
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
