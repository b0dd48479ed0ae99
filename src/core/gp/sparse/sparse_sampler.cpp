#include "core/gp/sparse/sparse_sampler.hpp"

#include "core/algebra/cholesky.hpp"
#include "core/gp/tree/random_normal.hpp"

namespace btml::gp {

static constexpr const char* what = "draws of a Gaussian process";

SparseSampler::SparseSampler(SparseModel& model, std::span<const double> values, size_t points, RunContext& context)
    : means_(context.memory(), what, points), factor_(context.memory(), what) {
    context.memory().require(
        points * (2 * points + model.inducing_points() + model.coordinates().width()) * sizeof(double), what);
    Buffer<double> covariances(context.memory(), what, points * points);
    model.joint(values, points, means_.data(), covariances.data(), context);
    ThreadTeam team(context);
    // Rounding may make covariances of points that are alike indefinite by a little.
    constexpr double min_jitter = 1e-10, max_jitter = 1e-4; // of the signal
    for (double jitter = min_jitter;; jitter *= 10) {
        Buffer<double> matrix(context.memory(), what, points * points);
        std::copy(covariances.begin(), covariances.end(), matrix.begin());
        for (size_t i = 0; i < points; i++) matrix[i * points + i] += jitter * model.kernel().signal;
        try {
            factor_ = algebra::Cholesky(std::move(matrix), points, team).take_factor();
            return;
        } catch (const Error& error) {
            if (error.code() != ErrorCode::out_of_range || jitter >= max_jitter) throw;
        }
    }
}

void SparseSampler::draw(uint64_t seed, uint64_t draw, std::span<double> to) const {
    const size_t points = means_.size();
    std::vector<double> normal(points);
    for (size_t i = 0; i < points; i++) normal[i] = random_normal(seed, draw, i);
    for (size_t i = 0; i < points; i++) {
        to[i] = means_[i];
        for (size_t j = 0; j <= i; j++) to[i] += factor_[i * points + j] * normal[j];
    }
}

} // namespace btml::gp
