// The mean squared error of predicting the validation rows' targets, as the paper's Appendix II scores active sets. It
// is neither monotone nor submodular, so the paper's Theorem 4 does not hold for it.
#include "core/exemplar/objectives.hpp"

#include "core/exemplar/process.hpp"

namespace btml::exemplar {

namespace {

class Prediction : public ProcessObjective {
  public:
    // A target is no prediction of itself: exemplars would be the rows that are hardest to predict.
    Prediction(const ObjectiveInput& input, RunContext& context)
        : ProcessObjective(input, RowWeights::Exemplars::left_out, context) {}

    // What the squared error has come down by from that of the mean.
    double utility_of(size_t row) const override {
        if (!counts(row)) return std::numeric_limits<double>::quiet_NaN();
        return target(row) * target(row) - error(row) * error(row);
    }

  private:
    double addition_gain(const CandidateTerms& s) const override {
        const double g = s.residual / s.gamma;
        return 2 * g * s.er - g * g * s.rr;
    }
    // The errors become e + h Q_j − g r.
    double swap_gain(const CandidateTerms& s, size_t j) const override {
        const double a = solution(j) / precision(j), b = s.v[j] / precision(j);
        const double g = (s.residual + s.v[j] * a) / (s.gamma + b * s.v[j]), h = a - b * g;
        return 2 * g * s.er + 2 * g * h * s.qr[j] - g * g * s.rr - h * h * s.qq[j] - 2 * h * s.qe[j];
    }
};

} // namespace

std::unique_ptr<Objective> make_prediction(const ObjectiveInput& input, RunContext& context) {
    return std::make_unique<Prediction>(input, context);
}

} // namespace btml::exemplar
