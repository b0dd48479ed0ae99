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

    // Returns the mean negative log density under the Student t distribution that is the likeliest for the errors.
    double mean_nll_student_t(RunContext& context) const;
};

HeldOutScore score_rows(Model& model, const TrainingColumns& rows, RunContext& context);

// Returns the same with the score by this distribution, where it has a density.
LeaveOneOut left_out_score(const uncertainty::StandardisedErrors& errors, const uncertainty::StudentT& student,
                           RunContext& context);
// Returns the mean negative log density by the calibration, or where it has none, the normal distributions.
double calibrated_nll(const LeaveOneOut& score);
// Takes at least one error.
uncertainty::Calibration calibration_by(const uncertainty::StandardisedErrors& errors, uncertainty::Method method,
                                        RunContext& context);

// Says whether a mean negative log density of so many rows is lower than another by more than chance: by half a nat of
// one row, and of more rows by less, as the root of their number.
bool is_clearly_better(double nll, double than, size_t rows);

// Makes the means over these rows the model's scores of held-out ones, next to so many that it has means of.
void add_to_scores(Model& model, const HeldOutScore& sums, uint64_t before);

} // namespace btml::gp
