#include "core/gp/sparse/sparse_predictor.hpp"

namespace btml::gp {

static constexpr const char* what = "points to predict at";

SparsePredictor::SparsePredictor(const SparseModel& model, size_t points, ThreadTeam& team, RunContext& context)
    : parts_(model.parts()),
      coordinates_(context.memory(), what, max_points * parts_.coordinates.width()),
      targets_(context.memory(), what, max_points, 0.0),
      weights_(context.memory(), what, max_points),
      forms_(parts_, {parts_.reduction.data()}, points, team, context) {}

void SparsePredictor::find(std::span<const double> features, std::span<Normal> to) {
    const size_t width = parts_.coordinates.width(), of_point = parts_.coordinates.features(), count = to.size();
    for (size_t i = 0; i < count; i++) {
        double* const point = coordinates_.data() + i * width;
        const bool is_like_rows = parts_.coordinates.find(features.subspan(i * of_point, of_point), point);
        if (!is_like_rows) std::fill_n(point, width, 0.0);
        weights_[i] = is_like_rows; // without weight it has no covariances
    }
    const SmoothRows rows{
        SmoothPoints({coordinates_.data(), count * width}, width), {targets_.data(), count}, {weights_.data(), count}};
    const QuadraticForms::OfRows found = forms_.of_rows(rows, 0);
    for (size_t i = 0; i < count; i++)
        to[i] = {found.means[i], std::max(0.0, parts_.kernel.signal - found.forms[0][i])};
}

} // namespace btml::gp
