// How well a model predicts rows that it was not trained on.
#pragma once

#include "core/gp/gp_model.hpp"

namespace btml::gp {

// What a model without calibrated variances is off on rows, in the target's units.
struct HeldOutScore {
    explicit HeldOutScore(RunContext& context) : errors(context) {}

    double nll = 0, squares = 0; // sums over the rows
    uncertainty::StandardisedErrors errors;

    void add(const HeldOutScore& others);
    // Returns the mean negative log density of the rows once variances are calibrated so.
    double mean_nll(const uncertainty::VarianceCalibration& variance) const;
    // Returns the same by the likeliest variances.
    double nll_by_likeliest_variances() const { return mean_nll(errors.likeliest_variances()); }
};

// Mean negative log densities of rows: under the likeliest Student t, which rewards being right about most rows, and
// under the likeliest normal distributions, which punish being far off on any.
struct CalibratedScore {
    double student_t, normal;

    CalibratedScore(const uncertainty::StandardisedErrors& errors, RunContext& context);
    // Says whether it is clearly better by the first, and not worse than by chance by the other, of so many rows.
    bool is_better_than(const CalibratedScore& other, size_t rows) const;
};

HeldOutScore score_rows(Model& model, const TrainingColumns& rows, RunContext& context);

// Returns the score of left-out rows, in the errors' units, after these rows have calibrated the variances. nll: the
// score before that.
double nll_once_calibrated(double nll, const uncertainty::StandardisedErrors& errors);

// Returns the score by the distributions of a calibration; that by its Student t where it has a density.
LeaveOneOut left_out_score(const uncertainty::StandardisedErrors& errors, const uncertainty::Calibration& calibration,
                           RunContext& context);
// Returns the mean negative log density by the calibration, or where it has none, the normal distributions.
double calibrated_nll(const LeaveOneOut& score);
// Calibrates a model by held-out rows, and gives it their scores: quantiles by those that chose nothing, or where none
// did, by all; variances, which have no guarantee to lose, always by all.
void calibrate_by_held_out(Model& model, const HeldOutScore& choosing, const HeldOutScore& calibrating,
                           RunContext& context);

} // namespace btml::gp
