// F_H: ½ log det(I + K_AA / σ²), what observing the exemplars tells of the process (the paper's 3.3 in a monotone
// form). Validation rows have no part in it.
#include "core/exemplar/objectives.hpp"

#include "core/exemplar/process.hpp"

namespace btml::exemplar {

namespace {

class Information : public ProcessObjective {
  public:
    Information(const ObjectiveInput& input, RunContext& context)
        : ProcessObjective(input, RowWeights::Exemplars::left_out, context) {}

    bool is_estimate() const override { return false; }
    double utility() const override {
        return (-log_determinant_of_precision() - static_cast<double>(size()) * std::log(kernel().noise)) / 2;
    }
    double utility_of(size_t) const override { return 0; }

  private:
    double addition_gain(const CandidateTerms& s) const override {
        return std::log(s.gamma / kernel().noise) / 2 * total_weight();
    }
    double swap_gain(const CandidateTerms& s, size_t j) const override {
        return std::log(s.gamma * precision(j) + s.v[j] * s.v[j]) / 2 * total_weight();
    }
};

} // namespace

std::unique_ptr<Objective> make_information(const ObjectiveInput& input, RunContext& context) {
    return std::make_unique<Information>(input, context);
}

} // namespace btml::exemplar
