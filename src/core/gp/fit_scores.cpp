#include "core/gp/fit_scores.hpp"

#include "core/gp/gp_predictor.hpp"

#include <algorithm>
#include <cmath>

namespace btml::gp {

void HeldOutScore::add(const HeldOutScore& others) {
    nll += others.nll;
    squares += others.squares;
    errors.add(others.errors);
}

double HeldOutScore::mean_nll(const uncertainty::VarianceCalibration& variance) const {
    return variance.is_identity() ? nll / static_cast<double>(errors.size()) : errors.mean_nll(variance);
}

CalibratedScore::CalibratedScore(const uncertainty::StandardisedErrors& errors, RunContext& context)
    : student_t(errors.mean_nll(uncertainty::likeliest_student_t(errors.sorted_z().span(), context))),
      normal(errors.mean_nll(errors.likeliest_variances())) {}

bool CalibratedScore::is_better_than(const CalibratedScore& other, size_t rows) const {
    return uncertainty::is_clearly_better(student_t, other.student_t, rows) &&
           !uncertainty::is_clearly_better(other.normal, normal, rows);
}

HeldOutScore score_rows(Model& model, const TrainingColumns& rows, RunContext& context) {
    HeldOutScore sums(context);
    if (rows.rows() == 0) return sums;
    Predictor::for_each_point(
        model, rows.rows(), [&](size_t i, std::span<double> features) { rows.read_row(i, features); },
        [&](size_t i, Predictor& predictor, std::span<const double> features) {
            const Predictor::Score score = predictor.score(features, rows.target[i], rows.weight_of(i));
            const double error = rows.target[i] - score.mean;
            sums.nll -= score.log_density;
            sums.squares += error * error;
            sums.errors.add(error, score.variance);
        },
        context);
    return sums;
}

double calibrated_nll(const LeaveOneOut& score) {
    return score.mean_nll_student_t.value_or(score.mean_nll);
}

double nll_once_calibrated(double nll, const uncertainty::StandardisedErrors& errors) {
    const uncertainty::VarianceCalibration variance = errors.likeliest_variances();
    return variance.is_identity() ? nll : errors.mean_nll(variance);
}

LeaveOneOut left_out_score(const uncertainty::StandardisedErrors& errors, const uncertainty::Calibration& calibration,
                           RunContext& context) {
    const uncertainty::StudentT& student = calibration.student;
    LeaveOneOut score = left_out_score(errors, context, calibration.variance);
    if (student.scale > 0) score.mean_nll_student_t = errors.mean_nll(student);
    return score;
}

void calibrate_by_held_out(Model& model, const HeldOutScore& choosing, const HeldOutScore& calibrating,
                           RunContext& context) {
    HeldOutScore all(context);
    all.add(choosing);
    all.add(calibrating);
    const HeldOutScore& untouched = calibrating.errors.size() > 0 ? calibrating : choosing;
    model.calibration = uncertainty::calibrate(uncertainty::Method::split_conformal, untouched.errors,
                                               all.errors.likeliest_variances(), context);
    model.holdout_nll = all.mean_nll(model.calibration->variance);
    model.holdout_rmse = std::sqrt(all.squares / static_cast<double>(all.errors.size()));
}

} // namespace btml::gp
