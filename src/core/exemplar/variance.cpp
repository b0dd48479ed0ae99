// F_V: mean prior variance of the validation rows less their mean posterior variance (equation 3.4 of the paper).
#include "core/exemplar/objectives.hpp"

#include "core/exemplar/process.hpp"

namespace btml::exemplar {

namespace {

class VarianceReduction : public ProcessObjective {
  public:
    // The mean over all rows is what is meant; of a sample, its own rows would be favoured.
    VarianceReduction(const ObjectiveInput& input, RunContext& context)
        : ProcessObjective(input, RowWeights::of_sample(input.has_all), context) {}

    double utility_of(size_t row) const override {
        return counts(row) ? kernel().signal - variance(row) : std::numeric_limits<double>::quiet_NaN();
    }

  private:
    double addition_gain(const CandidateTerms& s) const override { return s.rr / s.gamma; }
    double swap_gain(const CandidateTerms& s, size_t j) const override {
        const double b = s.v[j] / precision(j), gamma = s.gamma + b * s.v[j];
        return (s.rr + 2 * b * s.qr[j] + b * b * s.qq[j]) / gamma - s.qq[j] / precision(j);
    }
};

} // namespace

std::unique_ptr<Objective> make_variance(const ObjectiveInput& input, RunContext& context) {
    return std::make_unique<VarianceReduction>(input, context);
}

} // namespace btml::exemplar
