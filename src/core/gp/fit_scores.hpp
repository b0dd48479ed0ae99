// How well a model predicts rows that it was not trained on.
#pragma once

#include "core/gp/model.hpp"

namespace btml::gp {

// Sums over rows, in the target's units.
struct HeldOutScore {
    explicit HeldOutScore(RunContext& context) : errors(context) {}

    double nll = 0, squares = 0;
    uint64_t rows = 0;
    uncertainty::StandardisedErrors errors;
};

// The mean negative log densities of rows under the distributions that are the likeliest for what a model is off: by a
// Student t that it is right of most rows, by normal distributions that it is not far off of any.
struct CalibratedScore {
    double student_t, normal;

    CalibratedScore(const uncertainty::StandardisedErrors& errors, RunContext& context);
    // Says whether it is clearly better by the first, and not worse than by chance by the other, of so many rows.
    bool is_better_than(const CalibratedScore& other, size_t rows) const;
};

HeldOutScore score_rows(Model& model, const TrainingColumns& rows, RunContext& context);

// Returns the score, in the errors' units, of what the errors are of once its variances are calibrated by them; nll:
// that of it as it is.
double nll_once_calibrated(double nll, const uncertainty::StandardisedErrors& errors);

// Returns the score by the distributions of a calibration; that by its Student t where it has a density.
LeaveOneOut left_out_score(const uncertainty::StandardisedErrors& errors, const uncertainty::Calibration& calibration,
                           RunContext& context);
// Returns the mean negative log density by the calibration, or where it has none, the normal distributions.
double calibrated_nll(const LeaveOneOut& score);
// Makes the means over these rows the model's scores of held-out ones, next to so many that it has means of.
void add_to_scores(Model& model, const HeldOutScore& sums, uint64_t before);
// Scores both sets of held-out rows by the distributions that the model predicts now.
void score_held_out_again(Model& model, const TrainingColumns& choosing, const TrainingColumns& calibrating,
                          RunContext& context);

} // namespace btml::gp
