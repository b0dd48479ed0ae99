#include "core/gp/sparse/sparse_model.hpp"

#include "core/algebra/dense.hpp"
#include "core/gp/sparse/collapsed.hpp"

#include <cmath>
#include <numeric>

namespace btml::gp {

using algebra::Blocks;
using algebra::blocks_of;

static constexpr const char* what_model = "the inducing points of a Gaussian process";

SparseModel::SparseModel(Parts parts, RunContext& context)
    : parts_(std::move(parts)),
      scaled_(context.memory(), what_model, parts_.inducing.size()),
      group_(parts_.coordinates.width() * covariance_group),
      values_(inducing_points() * covariance_group),
      point_(parts_.coordinates.width()),
      covariances_(inducing_points()),
      reduced_(inducing_points()) {
    const size_t width = parts_.coordinates.width();
    for (size_t u = 0; u < inducing_points(); u++)
        parts_.kernel.scale(parts_.inducing.data() + u * width, scaled_.data() + u * width);
}

bool SparseModel::find_covariances_of(std::span<const double> features, double* point, double* to) {
    if (!parts_.coordinates.find(features, point)) {
        std::fill_n(to, inducing_points(), 0.0);
        return false;
    }
    parts_.kernel.scale(point, point);
    find_covariances_at(point, scaled_.data(), inducing_points(), to);
    return true;
}

// Those of a point and others, all in units of length scales. The task is for groups of points, all of which are this
// one.
void SparseModel::find_covariances_at(const double* point, const double* others, size_t count, double* to) {
    const size_t width = parts_.coordinates.width();
    for (size_t c = 0; c < width; c++) std::fill_n(group_.data() + c * covariance_group, covariance_group, point[c]);
    find_covariances({parts_.kernel.kind, parts_.coordinates.numbers(), width, parts_.kernel.penalties.data(),
                      parts_.kernel.signal, others, count, group_.data(), values_.data(), covariance_group});
    for (size_t u = 0; u < count; u++) to[u] = values_[u * covariance_group];
}

// y −= A·x for the symmetric matrix A, in blocks.
static void subtract_product(const Buffer<double>& matrix, const std::vector<double>& x, std::vector<double>& y) {
    const size_t size = x.size();
    const Blocks a(matrix.data(), size, size), from(x.data(), size, 1), to(y.data(), size, 1);
    for (size_t i = 0; i < blocks_of(size); i++)
        for (size_t j = 0; j < blocks_of(size); j++) algebra::subtract_product(a(i, j), from(j, 0), to(i, 0));
}

Normal SparseModel::latent(std::span<const double> features) {
    Normal at{0, parts_.kernel.signal};
    if (!find_covariances_of(features, point_.data(), covariances_.data())) return at;
    std::fill(reduced_.begin(), reduced_.end(), 0.0);
    subtract_product(parts_.reduction, covariances_, reduced_);
    for (size_t u = 0; u < inducing_points(); u++) {
        at.mean += covariances_[u] * parts_.solution[u];
        at.variance += covariances_[u] * reduced_[u];
    }
    at.variance = std::max(at.variance, 0.0);
    return at;
}

void SparseModel::joint(std::span<const double> features, size_t count, double* means, double* covariances,
                        RunContext& context) {
    const size_t width = parts_.coordinates.width(), of_point = features.size() / count, size = inducing_points();
    Buffer<double> points(context.memory(), what_model, count * width),
        with_inducing(context.memory(), what_model, count * size);
    std::vector<bool> known(count);
    for (size_t i = 0; i < count; i++) {
        context.worked(8 * size);
        known[i] = find_covariances_of(features.subspan(i * of_point, of_point), points.data() + i * width,
                                       with_inducing.data() + i * size);
    }
    for (size_t i = 0; i < count; i++) {
        context.worked(size * size / 8 + i * (size / 8 + 8));
        std::copy_n(with_inducing.data() + i * size, size, covariances_.begin());
        std::fill(reduced_.begin(), reduced_.end(), 0.0);
        subtract_product(parts_.reduction, covariances_, reduced_);
        means[i] = 0;
        for (size_t u = 0; u < size; u++) means[i] += covariances_[u] * parts_.solution[u];
        for (size_t j = 0; j <= i; j++) {
            double prior = i == j ? parts_.kernel.signal : 0;
            if (i != j && known[i] && known[j])
                find_covariances_at(points.data() + i * width, points.data() + j * width, 1, &prior);
            for (size_t u = 0; u < size; u++) prior += reduced_[u] * with_inducing[j * size + u];
            covariances[i * count + j] = covariances[j * count + i] = prior;
        }
    }
}

std::vector<double> SparseModel::relevance() const {
    std::vector<double> relevance(parts_.coordinates.features());
    const std::vector<size_t> features = parts_.coordinates.features_of_coordinates();
    for (size_t c = 0; c < features.size(); c++)
        relevance[features[c]] += parts_.kernel.signal * (1 - parts_.kernel.share_apart(c));
    return relevance;
}

void SparseModel::encode(Writer& writer) const {
    parts_.coordinates.encode(writer);
    gp::encode(parts_.kernel, writer);
    writer.put(parts_.log_likelihood.has_value());
    if (parts_.log_likelihood) writer.put_finite(*parts_.log_likelihood);
    const size_t count = inducing_points();
    writer.put_count(count);
    for (const double coordinate : parts_.inducing) writer.put_finite(coordinate);
    for (const double weight : parts_.solution) writer.put_finite(weight);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j <= i; j++) writer.put_finite(parts_.reduction[i * count + j]);
}

SparseModel SparseModel::decode(Reader& reader, const std::vector<Feature>& features, RunContext& context) {
    Coordinates coordinates = Coordinates::decode(reader, features);
    SmoothKernel kernel = decode_smooth_kernel(reader);
    const size_t width = coordinates.width();
    if (kernel.inverse_lengths.size() != coordinates.numbers() || kernel.width() != width)
        corrupt_model(format("Its kernel has %zu coordinates, its points %zu.", kernel.width(), width));
    if (width == 0) corrupt_model("Its kernel compares nothing.");
    const std::optional<double> log_likelihood = reader.get_bool() ? std::optional(reader.get_finite()) : std::nullopt;
    const size_t count = reader.get_count((width + 1) * sizeof(double));
    if (count == 0 || count > max_inducing_points || reader.remaining() / sizeof(double) / ((count + 1) / 2) < count)
        corrupt_model(format("It has %zu inducing points.", count));
    Parts parts{std::move(coordinates),
                std::move(kernel),
                Buffer<double>(context.memory(), what_model, count * width),
                Buffer<double>(context.memory(), what_model, count),
                Buffer<double>(context.memory(), what_model, count * count),
                log_likelihood};
    for (double& coordinate : parts.inducing) coordinate = reader.get_finite();
    for (double& weight : parts.solution) weight = reader.get_finite();
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j <= i; j++)
            parts.reduction[i * count + j] = parts.reduction[j * count + i] = reader.get_finite();
    return SparseModel(std::move(parts), context);
}

// K_uu⁻¹k − Mk = Σ⁻¹k, where M is the reduction and Σ = K_uu + Φ/σ².
static std::vector<double> solve(const SparseModel::Parts& parts, const std::vector<double>& covariances,
                                 RunContext& context) {
    ThreadTeam team(context);
    std::vector<double> solution = covariances;
    const size_t size = covariances.size();
    inducing_factor(parts.kernel, parts.inducing.span(), team, context).solve(solution.data(), team);
    for (size_t u = 0; u < size; u++)
        for (size_t v = 0; v < size; v++) solution[u] -= parts.reduction[u * size + v] * covariances[v];
    return solution;
}

// Σ changes by ±kk'/σ², and its inverse by the formula of Sherman and Morrison.
bool SparseModel::condition_on(std::span<const double> features, double target, double weight, bool more,
                               RunContext& context) {
    if (!find_covariances_of(features, point_.data(), covariances_.data())) return true;
    const std::vector<double>&k = covariances_, change = solve(parts_, k, context);
    const auto inner = [&](const auto& x) { return std::inner_product(k.begin(), k.end(), x.begin(), 0.0); };
    const double known = std::max(0.0, inner(change));
    const double noise = parts_.kernel.noise / weight;
    const double divisor = more ? noise + known : known - noise;
    if (!more && !(divisor < 0)) return false;
    const double residual = target - inner(parts_.solution);
    for (size_t u = 0; u < k.size(); u++) {
        parts_.solution[u] += change[u] * residual / divisor;
        for (size_t v = 0; v < k.size(); v++) parts_.reduction[u * k.size() + v] += change[u] * change[v] / divisor;
    }
    parts_.log_likelihood.reset();
    return true;
}

} // namespace btml::gp
