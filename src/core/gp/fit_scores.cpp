#include "core/gp/fit_scores.hpp"

#include "core/gp/predictor.hpp"

#include <algorithm>
#include <cmath>

namespace btml::gp {

double HeldOutScore::mean_nll_student_t(RunContext& context) {
    const std::span<double> z = errors.z();
    std::sort(z.begin(), z.end(), [&](double a, double b) {
        context.worked(1);
        return a < b;
    });
    return errors.mean_nll(uncertainty::likeliest_student_t(z, context));
}

uint64_t units_of_prediction(const Model& model) {
    const auto* const sparse = std::get_if<SparseModel>(&model.posterior);
    const auto* const sum = std::get_if<SumModel>(&model.posterior);
    const uint64_t k = sparse ? sparse->inducing_points() : 0,
                   members = std::max<uint64_t>(1, model.members().size() + (sum ? sum->members().size() : 0)),
                   trees = model.mean ? model.mean->trees().trees.size() : 0;
    return 64 * members + 8 * k + k * k / 8 + 2 * trees +
           (model.varying_noise ? units_of_prediction(model.varying_noise->process) : 0);
}

HeldOutScore score_rows(Model& model, const TrainingColumns& rows, RunContext& context) {
    HeldOutScore sums(context);
    Predictor predictor(model);
    std::vector<double> values(model.features.size());
    context.for_each(rows.rows(), units_of_prediction(model), [&](size_t i) {
        rows.read_row(i, values);
        const Predictor::Score score = predictor.score(values, rows.target[i], rows.weight_of(i));
        const double error = rows.target[i] - score.mean;
        sums.nll -= score.log_density;
        sums.squares += error * error;
        sums.errors.add(error, score.variance);
    });
    sums.rows = rows.rows();
    return sums;
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
