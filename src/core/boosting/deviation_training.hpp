// Trees for how far off trees are: ln(e² + a little) of residuals e that are out of fold, with the bins of the first
// training. Their number is the one that predicts best the folds that they were not trained on.
#pragma once

#include "core/boosting/cross_fitting.hpp"

namespace btml::boosting {

class DeviationTraining {
  public:
    // What is done of a fit when its trees are there, and only the deviation is to come.
    static constexpr double begin = 0.25;

    // Cuts the rows to train on into halves. As for CrossFitting.
    DeviationTraining(const Dataset& dataset, uint64_t seed, ThreadTeam& team, RunContext& context)
        : DeviationTraining(dataset, 2, 0, seed, team, context) {}
    DeviationTraining(const Dataset& dataset, size_t folds, size_t spared, uint64_t seed, ThreadTeam& team,
                      RunContext& context);

    // Gives the model a deviation and a calibration: by the rows held out, or where there are none, by the folds. The
    // bins forget the features' directions, which are promises about predictions.
    void run(Model& model, const Options& options, const TargetRows* held_out, BinnedData& data, ThreadTeam& team);

    // Returns a model of its own: the mean of trainings without a fold, both for the target and the deviation, of as
    // many trees each as predict the folds best, within options.trees and until options.early_stopping of them bring
    // nothing.
    Model fit(const Options& options, BinnedData& data, ThreadTeam& team);
    // Then there are, by row of the join, the residuals out of fold, and the deviations that the folds' trees and the
    // model's factor give them. Rows that are spared have those of the model, which knows nothing of them.
    Buffer<double> errors_by_row() const;
    Buffer<double> deviations_by_row(const Model& model) const;
    const TargetRows& spared() const { return fitting_.spared(); }

  private:
    static constexpr size_t patience = 20;        // iterations without a better loss
    static constexpr double min_progress = 0.002; // of a loss, in as many as early_stopping says

    void find_errors(const Model& model, Options options, const BinnedData& data, ThreadTeam& team);
    std::vector<double> fold_weights() const;
    Model find_best_errors(const Options& options, const BinnedData& data, ThreadTeam& team);
    template <class Value>
    Buffer<double> by_row(const std::vector<Buffer<double>>& of_parts, const Value& value) const;
    void take_logarithms();
    void learn(Model& model, const Options& options, const TargetRows* held_out, bool of_folds, BinnedData& data,
               ThreadTeam& team);
    void calibrate(Model& model, uncertainty::Method method, const Buffer<double>& errors,
                   const Buffer<double>& scores);

    RunContext& context_;
    const uint64_t rows_; // of the join
    const double step_;   // between targets that are discrete, else 0
    CrossFitting fitting_;
    std::vector<Buffer<double>> errors_, scores_; // of each part: y − prediction, and the ln of its square as predicted
    Buffer<double> logarithms_;                   // by row of the join
};

// The mean of trees without a fold, and what they say of each row out of fold; of rows that are spared, which no tree
// knows, what their mean says.
struct CrossFit {
    Model model;
    Buffer<double> errors, deviations; // by row of the join
    Buffer<uint32_t> spared;           // rows of the join
};

// Squared loss. spared: rows of the target's table. The options' trees and early_stopping as of DeviationTraining::fit.
// Errors as of fit and CrossFitting.
CrossFit cross_fit(Dataset dataset, const Options& options, size_t folds, size_t spared, RunContext& context);

// Bytes that this takes besides the dataset, whose raw columns it frees.
uint64_t cross_fit_bytes(const Dataset& dataset, const Options& options, size_t folds, RunContext& context);

} // namespace btml::boosting
