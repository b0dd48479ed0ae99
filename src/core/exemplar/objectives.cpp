// The objectives for Gaussian processes, and the choice among all objectives.
#include "core/exemplar/clustering.hpp"
#include "core/exemplar/gp_objective.hpp"

namespace btml::exemplar {

namespace {

// F_H: ½ log det(I + K_AA / σ²) is what observing the exemplars tells of the gp (the paper's 3.3 in a monotone
// form). Validation rows have no part in it.
class Information : public GpObjective {
  public:
    Information(const ObjectiveInput& input, RunContext& context)
        : GpObjective(input, RowWeights::Exemplars::left_out, context) {}

    bool is_estimate() const override { return false; }
    double utility() const override {
        return (-log_determinant_of_precision() - size() * std::log(kernel().noise)) / 2;
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

// F_V is the mean prior variance of the validation rows less their mean posterior variance (equation 3.4 of the paper).
class VarianceReduction : public GpObjective {
  public:
    // The mean over all rows is what is meant; of a sample, its own rows would be favoured.
    VarianceReduction(const ObjectiveInput& input, RunContext& context)
        : GpObjective(input, RowWeights::of_sample(input.has_all), context) {}

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

// Scores the mean squared error of predicting the validation rows' targets, as the paper's Appendix II scores active
// sets. It is neither monotone nor submodular, so the paper's Theorem 4 does not hold for it.
class Prediction : public GpObjective {
  public:
    // A target is no prediction of itself: exemplars would be the rows that are hardest to predict.
    Prediction(const ObjectiveInput& input, RunContext& context)
        : GpObjective(input, RowWeights::Exemplars::left_out, context) {}

    // Returns what the squared error has come down by from that of the mean.
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

std::unique_ptr<Objective> make_objective(const ObjectiveInput& input, ThreadTeam& team, RunContext& context) {
    switch (input.options.objective) {
    case ObjectiveKind::information:
        return std::make_unique<Information>(input, context);
    case ObjectiveKind::variance:
        return std::make_unique<VarianceReduction>(input, context);
    case ObjectiveKind::prediction:
        return std::make_unique<Prediction>(input, context);
    default:
        return std::make_unique<Clustering>(input, team, context);
    }
}

} // namespace btml::exemplar
