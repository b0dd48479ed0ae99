#include "core/gp/sparse/sparse_predictor.hpp"

#include <cmath>

namespace btml::gp {

static constexpr const char* what_points = "points to predict at";

SparsePredictor::SparsePredictor(const SparseModel& model, size_t points, ThreadTeam& team, RunContext& context)
    : parts_(model.parts()),
      coordinates_(context.memory(), what_points, max_points * parts_.coordinates.width()),
      targets_(context.memory(), what_points, max_points, 0.0),
      weights_(context.memory(), what_points, max_points),
      forms_(parts_, {parts_.reduction.data()}, points, team, context) {}

void SparsePredictor::find(std::span<const double> features, std::span<Normal> to) {
    const size_t width = parts_.coordinates.width(), of_point = parts_.coordinates.features(), count = to.size();
    for (size_t i = 0; i < count; i++) {
        double* const point = coordinates_.data() + i * width;
        const bool is_like_rows = parts_.coordinates.find(features.subspan(i * of_point, of_point), point);
        if (!is_like_rows) std::fill_n(point, width, 0.0);
        weights_[i] = is_like_rows; // without weight it has no covariances
    }
    const SmoothRows rows(coordinates_.span().first(count * width), width, targets_.span().first(count),
                          weights_.span().first(count));
    const QuadraticForms::OfRows found = forms_.of_rows(rows, 0);
    for (size_t i = 0; i < count; i++)
        to[i] = {found.means[i], std::max(0.0, parts_.kernel.signal - found.forms[0][i])};
}

// With g = k'Σ⁻¹k, where Σ = K_uu + Φ/σ², a row of weight w has the leverage h = w·g/σ². Without the row its residual
// is 1/(1 − h) times as large, and so is g, which the latent variance has beside the prior's part.
uncertainty::StandardisedErrors leave_rows_out(const SparseModel::Parts& parts, const Buffer<double>& inverse,
                                               const SmoothRows& rows, ThreadTeam& team, RunContext& context) {
    constexpr double min_free = 1e-9; // of 1 − h, which rounding may bring to 0
    const double noise = parts.kernel.noise;
    QuadraticForms forms(parts, {parts.reduction.data(), inverse.data()}, rows.size(), team, context);
    uncertainty::StandardisedErrors errors(context);
    for (size_t begin = 0; begin < rows.size(); begin += QuadraticForms::max_rows) {
        const QuadraticForms::OfRows found = forms.of_rows(rows, begin);
        for (size_t i = 0; i < found.rows(); i++) {
            const double reduced = found.forms[0][i], known = found.forms[1][i];
            const double weight = rows.weight(begin + i), free = std::max(min_free, 1 - known / noise);
            const double prior = std::max(0.0, parts.kernel.signal - (reduced + known) / weight);
            const double latent = prior + known / weight / free;
            const double residual = rows.targets[begin + i] - found.means[i] / std::sqrt(weight);
            errors.add(residual / free, latent + noise / weight);
        }
        context.share_progress("leaving rows out", begin, rows.size());
    }
    return errors;
}

} // namespace btml::gp
