// Trains Gaussian processes on rows that are read already, of targets as they are given.
#pragma once

#include "core/gp/additive/sum_training.hpp"
#include "core/gp/fit.hpp"
#include "core/gp/fit_memory.hpp"
#include "core/gp/fit_scores.hpp"
#include "core/gp/member_training.hpp"
#include "core/gp/mixture.hpp"

namespace btml::gp {

FitRows copy(const FitRows& rows, RunContext& context);
// Copies all but the rows to train on.
FitRows copy_held_out(const FitRows& rows, RunContext& context);

// One of the candidates that compete: the least score wins.
struct Trained {
    FitResult result = {};
    double score = 0; // mean negative log density: of the rows that choose where there are any, or leaving rows out
    uncertainty::StandardisedErrors left_out; // of training rows, in their order, on the model's scale
    HeldOutScore of_choosing;                 // by the variances that the model itself tells

    explicit Trained(RunContext& context) : left_out(context), of_choosing(context) {}
};

// Does what the body does, as a phase.
template <class Body>
auto timed(std::vector<Timing>& phases, const char* phase, const Body& body) {
    phases.push_back({phase, 0});
    const Stopwatch watch(phases.back().seconds);
    return body();
}

class Trainer {
  public:
    // Keeps references to all but the rows.
    Trainer(FitRows rows, const std::vector<Feature>& features, const Options& options, const FitMemory& estimate,
            RunContext& context);

    // Frees the features of the rows.
    Trained fit();
    // Returns the quick fit of a sample of so many rows, without scores.
    Model fit_sample(size_t rows);
    // Each member as a model of its own.
    std::vector<FitResult> fit_members();

  private:
    // Says where, and how widely, targets are spread.
    struct Spread {
        double centre = 0, scale = 1;

        // Returns the score of standardised targets as that of the targets.
        LeaveOneOut in_units(const LeaveOneOut& score) const {
            return {score.rows, score.mean_nll + std::log(scale), score.rmse * scale, score.coverage_90};
        }
    };
    enum class Features { keep, free };

    static Spread spread_of(const TrainingColumns& columns);
    void standardise();
    void find_candidates(size_t count, int evaluations);
    void choose_encoding();
    std::vector<double> mixture_weights() const;
    Trained empty_model() const;
    template <class Posterior>
    Trained trained_as(Fitted<Posterior> fitted, double noise);
    Trained assemble(std::span<const double> weights, Features afterwards);
    Trained fit_mixture(size_t members, int evaluations);
    Trained fit_sum(int members, uint64_t evaluations);
    Trained fit_sparse(KernelChoice kernel);
    Trained fit_tree();
    Trained fit_best_kernel();
    Trained fit_sum_or_member(int members, uint64_t evaluations, bool compare);
    bool is_solved(const Model& model);
    SumTraining sum_training(int members, uint64_t evaluations) const;
    bool sum_fits(const SumTraining& training) const;
    MemberRows scored_rows(const Candidate& candidate, double weight, LeaveOneOutScore& score);
    void score_model(Trained& trained);
    void calibrate(Trained& trained);
    void compare_scores(const Trained& trained);
    double nll_of_member();

    const Options& options_;
    RunContext& context_;
    const FitMemory& estimate_;
    const std::vector<Feature>& features_;
    std::vector<Timing> timings_;
    TrainingColumns training_, choosing_, calibrating_;
    const bool held_out_rows_choose_;
    Spread spread_;
    KernelLimits limits_;
    std::optional<Encoding> encoding_; // without shifts, once it was chosen
    std::vector<std::optional<Candidate>> candidates_;
    std::vector<std::string> warnings_;
};

// Learns a noise that differs from point to point. A second gp is of ln(z² + m²)/s, where z is what the first one
// is off at a row given the others, over its deviation, m their median magnitude, and s the mean slope of the logarithm
// by ln z²; e to what it predicts says by how much the noise there is greater than elsewhere (Goldberg, Williams,
// Bishop: Regression with Input-Dependent Noise, 1998; Kersting et al.: Most Likely Heteroscedastic Gaussian Process
// Regression, 2007). The first gp is then trained again, with rows that weigh the less the noisier they are. What
// a row's own target says of its noise does not count.
//
// Trains a gp as Trainer does and, where the options ask for it, lets its noise vary; where that does not score
// clearly better, a warning says so, and the noise is the same everywhere. The score is of Trained::score.
Trained fit_gp(FitRows rows, const std::vector<Feature>& features, const Options& options, const FitMemory& estimate,
               RunContext& context);

// Says whether the options, and so many rows to train on, leave the choice open: of few rows, trees learn little.
bool is_mean_open(const Options& options, size_t rows);

// Held-out rows choose where there are so many, else rows of the training that a sample leaves out or no tree knows.
inline constexpr size_t min_rows_to_choose = 50;

// Trains the gp that the options ask for, of targets or of what boosted trees leave of them. Where they leave the
// choice open, the model is the one with the better score; of at most 4,096 rows first, where that is clear.
FitResult fit_with_mean(FitRows rows, const std::vector<Feature>& features, const Options& options,
                        const FitMemory& estimate, RunContext& context);

} // namespace btml::gp
