#include "core/gp/sparse/collapsed.hpp"

#include "core/algebra/dense.hpp"

#include <cmath>
#include <numeric>

namespace btml::gp {

namespace {

constexpr const char* what_collapsed = "the inducing points of a Gaussian process";

double inner(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

} // namespace

algebra::Cholesky inducing_factor(const SmoothKernel& kernel, std::span<const double> inducing, ThreadTeam& team,
                                  RunContext& context) {
    const size_t size = inducing.size() / kernel.width();
    Buffer<double> matrix = covariance_matrix(kernel, inducing, team, context);
    for (size_t u = 0; u < size; u++) matrix[u * size + u] += Collapsed::jitter * kernel.signal;
    return algebra::Cholesky(std::move(matrix), size, team);
}

Collapsed::Collapsed(const SmoothKernel& kernel, std::span<const double> inducing, const SmoothRows& rows,
                     ThreadTeam& team, RunContext& context)
    : Collapsed(kernel, inducing, rows, inducing_factor(kernel, inducing, team, context), team, context) {}

Collapsed::Collapsed(const SmoothKernel& kernel, std::span<const double> inducing, const SmoothRows& rows,
                     algebra::Cholesky prior, ThreadTeam& team, RunContext& context)
    : team_(team),
      context_(context),
      size_(inducing.size() / kernel.width()),
      rows_(rows.size()),
      signal_(kernel.signal),
      noise_(kernel.noise),
      prior_(std::move(prior)),
      precision_(context.memory(), what_collapsed) {
    Moments moments = sum_moments(kernel, inducing, prior_, rows, team, context);
    weights_ = moments.weights;
    log_weights_ = moments.log_weights;
    squares_ = moments.squares;
    projection_.assign(moments.projections.begin(), moments.projections.end());
    precision_ = std::move(moments.products);
    algebra::mirror_lower(precision_.data(), size_);
    for (size_t u = 0; u < size_; u++) explained_ += precision_[u * size_ + u];
    set_noise(noise_);
}

// L'⁻¹AL⁻¹ of a symmetric A, which it is to the last bit, too.
void Collapsed::sandwich_upper(double* matrix) const {
    prior_.solve_upper(matrix, size_, team_);
    algebra::transpose(matrix, size_);
    prior_.solve_upper(matrix, size_, team_);
    algebra::mirror_lower(matrix, size_);
}

algebra::Cholesky Collapsed::posterior_factor() const {
    Buffer<double> matrix(context_.memory(), what_collapsed, size_ * size_);
    for (size_t i = 0; i < size_ * size_; i++) matrix[i] = precision_[i] / noise_;
    for (size_t u = 0; u < size_; u++) matrix[u * size_ + u] += 1;
    return algebra::Cholesky(std::move(matrix), size_, team_);
}

double Collapsed::set_noise(double noise) {
    if (posterior_ && noise == noise_) return bound();
    noise_ = noise;
    posterior_.reset();
    posterior_.emplace(posterior_factor());
    weights_of_projection_ = projection_;
    posterior_->solve(weights_of_projection_.data(), team_);
    for (double& weight : weights_of_projection_) weight /= noise_;
    return bound();
}

double Collapsed::bound() const {
    const double n = static_cast<double>(rows_);
    const double quadratic = squares_ - inner(projection_, weights_of_projection_);
    const double unexplained = std::max(0.0, weights_ * signal_ - explained_);
    const double of_projection =
        n * std::log(2 * M_PI * noise_) - log_weights_ + posterior_->log_determinant() + quadratic / noise_;
    return -(of_projection + unexplained / noise_) / 2;
}

std::vector<double> Collapsed::solution() const {
    std::vector<double> solution = weights_of_projection_;
    prior_.solve_upper(solution.data(), 1, team_);
    return solution;
}

Buffer<double> Collapsed::shrinkage() const {
    Buffer<double> matrix(context_.memory(), what_collapsed, size_ * size_);
    posterior_->invert(matrix.data(), team_);
    for (double& element : matrix) element = -element;
    for (size_t u = 0; u < size_; u++) matrix[u * size_ + u] += 1;
    return matrix;
}

Buffer<double> Collapsed::reduction() const {
    Buffer<double> matrix = shrinkage();
    sandwich_upper(matrix.data());
    return matrix;
}

Buffer<double> Collapsed::inverse() const {
    Buffer<double> matrix(context_.memory(), what_collapsed, size_ * size_);
    posterior_->invert(matrix.data(), team_);
    sandwich_upper(matrix.data());
    return matrix;
}

// By K_uu −(L'⁻¹(X/σ² − S)L⁻¹ + bb')/2, with S = shrinkage() and b = solution(): K_uu enters by L⁻¹k alone, and so by
// half of what the covariances k would have to change by to undo it.
Collapsed::Slopes Collapsed::slopes() const {
    Slopes slopes{Buffer<double>(context_.memory(), what_collapsed, size_ * size_), shrinkage(), 0};
    double freedom = -static_cast<double>(rows_); // tr S − n
    for (size_t u = 0; u < size_; u++) freedom += slopes.reduction[u * size_ + u];
    const double quadratic = squares_ - inner(projection_, weights_of_projection_);
    const double unexplained = std::max(0.0, weights_ * signal_ - explained_);
    slopes.by_noise =
        (freedom + (quadratic + unexplained) / noise_ - inner(weights_of_projection_, weights_of_projection_)) / 2;

    double* const by_prior = slopes.by_prior.data();
    for (size_t i = 0; i < size_ * size_; i++) by_prior[i] = precision_[i] / noise_ - slopes.reduction[i];
    sandwich_upper(by_prior);
    sandwich_upper(slopes.reduction.data());
    const std::vector<double> solved = solution();
    for (size_t u = 0; u < size_; u++)
        for (size_t v = 0; v < size_; v++)
            by_prior[u * size_ + v] = -(by_prior[u * size_ + v] + solved[u] * solved[v]) / 2;
    return slopes;
}

} // namespace btml::gp
