#include "core/gp/fit_scores.hpp"

#include "core/gp/predictor.hpp"

#include <algorithm>
#include <cmath>

namespace btml::gp {

CalibratedScore::CalibratedScore(const uncertainty::StandardisedErrors& errors, RunContext& context) {
    Buffer<double> z = errors.z();
    std::sort(z.begin(), z.end(), [&](double a, double b) {
        context.worked(1);
        return a < b;
    });
    student_t = errors.mean_nll(uncertainty::likeliest_student_t(z.span(), context));
    normal = errors.mean_nll(errors.likeliest_variances());
}

bool CalibratedScore::is_better_than(const CalibratedScore& other, size_t rows) const {
    return uncertainty::is_clearly_better(student_t, other.student_t, rows) &&
           !uncertainty::is_clearly_better(other.normal, normal, rows);
}

HeldOutScore score_rows(Model& model, const TrainingColumns& rows, RunContext& context) {
    HeldOutScore sums(context);
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
    sums.rows = rows.rows();
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

void add_to_scores(Model& model, const HeldOutScore& sums, uint64_t before) {
    const double known = static_cast<double>(before), all = static_cast<double>(before + sums.rows);
    const double nll = model.holdout_nll.value_or(0) * known, rmse = model.holdout_rmse.value_or(0);
    model.holdout_nll = (nll + sums.nll) / all;
    model.holdout_rmse = std::sqrt((rmse * rmse * known + sums.squares) / all);
}

void score_held_out_again(Model& model, const TrainingColumns& choosing, const TrainingColumns& calibrating,
                          RunContext& context) {
    model.holdout_nll.reset();
    model.holdout_rmse.reset();
    uint64_t before = 0;
    for (const TrainingColumns* const rows : {&choosing, &calibrating}) {
        if (rows->rows() > 0) add_to_scores(model, score_rows(model, *rows, context), before);
        before += rows->rows();
    }
}

} // namespace btml::gp
