// Positive amounts whose deviation grows with their mean e^F.
#include "core/boosting/objectives/derived_scores.hpp"
#include "core/boosting/objectives/objective_table.hpp"

namespace btml::boosting {

namespace {

class Gamma final : public DerivedObjective {
  public:
    std::optional<double> default_max_step() const override { return 1.5; }
    Link link() const override { return Link::exponential; }
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
