// Counts: the mean is e^F.
#include "core/boosting/objectives/derived_scores.hpp"
#include "core/boosting/objectives/objective_table.hpp"

namespace btml::boosting {

namespace {

class Poisson final : public DerivedObjective {
  public:
    std::optional<double> default_max_step() const override { return 0.7; }
    Link link() const override { return Link::exponential; }
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
