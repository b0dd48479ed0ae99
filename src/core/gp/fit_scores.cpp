#include "core/gp/fit_scores.hpp"

#include "core/gp/predictor.hpp"

#include <algorithm>
#include <cmath>

namespace btml::gp {

double HeldOutScore::mean_nll_student_t(RunContext& context) const {
    Buffer<double> z = errors.z();
    std::sort(z.begin(), z.end(), [&](double a, double b) {
        context.worked(1);
        return a < b;
    });
    return errors.mean_nll(uncertainty::likeliest_student_t(z.span(), context));
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

uncertainty::Calibration calibration_by(const uncertainty::StandardisedErrors& errors, uncertainty::Method method,
                                        RunContext& context) {
    Buffer<double> z = errors.z();
    return uncertainty::calibrate(method, {z.data(), z.size()}, context);
}

double calibrated_nll(const LeaveOneOut& score) {
    return score.mean_nll_student_t.value_or(score.mean_nll);
}

LeaveOneOut left_out_score(const uncertainty::StandardisedErrors& errors, const uncertainty::StudentT& student,
                           RunContext& context) {
    LeaveOneOut score = left_out_score(errors, context);
    if (student.scale > 0) score.mean_nll_student_t = errors.mean_nll(student);
    return score;
}

bool is_clearly_better(double nll, double than, size_t rows) {
    return nll < than - 0.5 / std::sqrt(static_cast<double>(rows));
}

void add_to_scores(Model& model, const HeldOutScore& sums, uint64_t before) {
    const double known = static_cast<double>(before), all = static_cast<double>(before + sums.rows);
    const double nll = model.holdout_nll.value_or(0) * known, rmse = model.holdout_rmse.value_or(0);
    model.holdout_nll = (nll + sums.nll) / all;
    model.holdout_rmse = std::sqrt((rmse * rmse * known + sums.squares) / all);
}

} // namespace btml::gp
