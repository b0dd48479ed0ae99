#include "core/exemplar/squared_exponential.hpp"

#include "core/algebra/cholesky.hpp"
#include "core/numbers/lbfgs.hpp"
#include "core/numbers/rng.hpp"
#include "core/numbers/usual_range.hpp"
#include "core/pairwise/distances.hpp"

#include <algorithm>
#include <numeric>

namespace btml::exemplar {

namespace {

constexpr size_t few_points = 400, max_points = 2000;
constexpr int evaluations_on_few = 80, evaluations_on_most = 8;
constexpr uint64_t order_stream = 0x6b65726e656c; // "kernel"

double sample_variance(const std::vector<double>& values, double mean) {
    double sum = 0;
    for (const double value : values) sum += (value - mean) * (value - mean);
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Computes the log marginal likelihood of the first points in a random order, and its derivatives.
class Likelihood {
  public:
    Likelihood(const Options& options, const PointSet& points, ThreadTeam& team, RunContext& context)
        : options_(options), points_(points), team_(team), context_(context), order_(points.size()) {
        std::iota(order_.begin(), order_.end(), size_t{0});
        RandomStream random(options.seed, order_stream);
        for (size_t i = order_.size(); i > 1; i--) std::swap(order_[i - 1], order_[random.below(i)]);
    }

    SquaredExponential kernel; // with the parameters of the last evaluation

    // Parameters: logarithms of the length scales, the signal and the noise; derivatives of those given are 0.
    double negative(std::span<const double> parameters, std::span<double> gradient, size_t count) {
        const size_t width = points_.width();
        for (size_t f = 0; f < width; f++) kernel.length_scales[f] = std::exp(parameters[f]);
        kernel.signal = std::exp(parameters[width]);
        kernel.noise = std::exp(parameters[width + 1]);
        find_covariances(count);
        const algebra::Cholesky factor(observed_covariances(count), count, team_);
        Buffer<double> inverse(context_.memory(), "covariances", count * count);
        factor.invert(inverse.data(), team_);
        std::vector<double> solution(count);
        for (size_t i = 0; i < count; i++) solution[i] = target(i) - kernel.mean;
        factor.solve(solution.data(), team_);
        double quadratic = 0;
        for (size_t i = 0; i < count; i++) quadratic += solution[i] * (target(i) - kernel.mean);
        add_gradient(inverse.data(), solution, gradient);
        const double n = count;
        for (double& derivative : gradient) derivative /= n;
        if (options_.length_scales) std::fill(gradient.begin(), gradient.begin() + static_cast<long>(width), 0.0);
        if (options_.signal) gradient[width] = 0;
        if (options_.noise) gradient[width + 1] = 0;
        return (quadratic + factor.log_determinant()) / 2 / n;
    }

  private:
    double target(size_t i) const { return points_.target(order_[i]); }
    double* group_points(size_t group) { return grouped_.data() + group * points_.width() * pairwise::group_points; }
    double* group_covariances(size_t group, size_t count) {
        return covariances_.data() + group * count * pairwise::group_points;
    }

    // Writes the points in units of the length scales, row by row and in groups; those that fill a group up are zero.
    void scale_points(size_t count, size_t groups) {
        const size_t width = points_.width();
        scaled_.resize(count * width);
        grouped_.resize(groups * width * pairwise::group_points);
        std::fill(grouped_.begin(), grouped_.end(), 0.0);
        for (size_t i = 0; i < count; i++)
            for (size_t f = 0; f < width; f++)
                scaled_[i * width + f] =
                    group_points(i / pairwise::group_points)[f * pairwise::group_points + i % pairwise::group_points] =
                        points_.x(order_[i])[f] / kernel.length_scales[f];
    }

    // The covariances of all points with those of a group lie together.
    void find_covariances(size_t count) {
        const size_t groups = (count + pairwise::group_points - 1) / pairwise::group_points;
        scale_points(count, groups);
        covariances_.resize(groups * count * pairwise::group_points);
        team_.for_each(groups, [&](size_t group, int) {
            pairwise::find_covariances({scaled_.data(), count, points_.width(), group_points(group), kernel.signal,
                                        group_covariances(group, count)});
        });
    }

    Buffer<double> observed_covariances(size_t count) {
        Buffer<double> matrix(context_.memory(), "covariances", count * count);
        for (size_t j = 0; j < count; j++) {
            const double* const column =
                group_covariances(j / pairwise::group_points, count) + j % pairwise::group_points;
            for (size_t i = 0; i < count; i++) matrix[j * count + i] = column[i * pairwise::group_points];
            matrix[j * count + j] += kernel.noise;
        }
        return matrix;
    }

    // −½ tr((αα' − K⁻¹) ∂K) for each parameter.
    void add_gradient(const double* inverse, const std::vector<double>& solution, std::span<double> gradient) {
        constexpr size_t group_points = pairwise::group_points;
        const size_t count = solution.size(), width = points_.width(),
                     groups = (count + group_points - 1) / group_points;
        std::vector<double> parts(groups * (width + 2));
        team_.for_each(groups, [&](size_t group, int) {
            double* const part = parts.data() + group * (width + 2);
            double* const weights = group_covariances(group, count); // take the place of the covariances
            const size_t first = group * group_points, last = std::min(first + group_points, count);
            for (size_t i = 0; i < count; i++)
                for (size_t j = first; j < first + group_points; j++) {
                    const double outer = j < last ? (solution[i] * solution[j] - inverse[i * count + j]) / 2 : 0;
                    double& weight = weights[i * group_points + j - first];
                    part[width] += weight *= outer;
                    if (i == j) part[width + 1] += outer * kernel.noise;
                }
            pairwise::sum_weighted_squares({scaled_.data(), count, width, this->group_points(group), weights, part});
        });
        std::fill(gradient.begin(), gradient.end(), 0.0);
        for (size_t group = 0; group < groups; group++)
            for (size_t p = 0; p < width + 2; p++) gradient[p] -= parts[group * (width + 2) + p];
    }

    const Options& options_;
    const PointSet& points_;
    ThreadTeam& team_;
    RunContext& context_;
    std::vector<size_t> order_;
    Buffer<double> scaled_{context_.memory(), "points"}, grouped_{context_.memory(), "points"};
    Buffer<double> covariances_{context_.memory(), "covariances"};
};

// Keeps the numbers in their usual range.
void drop_far(std::vector<double>& values) {
    if (values.empty()) return;
    const UsualRange usual = usual_range([&](const auto& body) { std::ranges::for_each(values, body); });
    std::erase_if(values, [&](double x) { return !usual.contains(x); });
}

// Length scales of the coordinates' spread times √width, a tenth of the targets' variance for noise.
std::vector<double> initial_parameters(const Options& options, const PointSet& points, double variance) {
    const size_t width = points.width();
    std::vector<double> parameters, values;
    for (size_t f = 0; f < width; f++) {
        values.resize(points.size());
        for (size_t i = 0; i < points.size(); i++) values[i] = points.x(i)[f];
        drop_far(values);
        const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
        const double spread = std::sqrt(sample_variance(values, mean) * static_cast<double>(width));
        const double length = options.length_scales ? (*options.length_scales)[f] : spread > 0 ? spread : 1;
        parameters.push_back(std::log(length));
    }
    parameters.push_back(std::log(options.signal.value_or(variance)));
    parameters.push_back(std::log(options.noise.value_or(0.1 * variance)));
    return parameters;
}

// Returns what an evaluation of the likelihood costs, in those of few_points: a Cholesky factor costs the cube of the
// number of points.
uint64_t cost(size_t points) {
    const double relative = static_cast<double>(points) / few_points;
    return std::max(1.0, relative * relative * relative);
}

// Maximises the likelihood from the parameters on, of few points first.
void learn(std::vector<double>& parameters, const Options& options, Likelihood& likelihood, size_t points,
           double variance, RunContext& context) {
    const size_t most_points = std::min(points, max_points);
    uint64_t done = 0;
    const uint64_t last = points > few_points ? evaluations_on_most * cost(most_points) : 0;
    const auto reached = [&](uint64_t cost_so_far) {
        done = cost_so_far;
        context.progress("learning the kernel", done, evaluations_on_few + last);
    };
    reached(0);
    // Keeps the likelihood to a noise that covariance matrices stay positive definite with.
    const double min_noise = options.noise ? parameters.back() : std::log(variance * 1e-6);
    const auto learn_from = [&](size_t count, int evaluations) {
        parameters.back() = std::max(parameters.back(), min_noise);
        minimise(
            parameters,
            [&](std::span<const double> at, std::span<double> gradient) {
                std::vector<double> bounded(at.begin(), at.end());
                bounded.back() = std::max(bounded.back(), min_noise);
                const double value = likelihood.negative(bounded, gradient, count);
                reached(done + cost(count));
                if (at.back() < min_noise) gradient.back() = 0;
                return value;
            },
            evaluations, 1e-5, 1.0);
        parameters.back() = std::max(parameters.back(), min_noise);
    };
    learn_from(std::min(points, few_points), evaluations_on_few);
    reached(evaluations_on_few);
    if (points > few_points) learn_from(most_points, evaluations_on_most);
}

// Writes the options that give the same kernel.
std::string description(const SquaredExponential& kernel) {
    std::string lengths;
    for (const double length : kernel.length_scales) lengths += format("%s%.4g", lengths.empty() ? "" : ",", length);
    return format("kernel learned: length_scales => '{%s}', signal => %.4g, noise => %.4g", lengths.c_str(),
                  kernel.signal, kernel.noise);
}

} // namespace

SquaredExponential choose_kernel(const Options& options, const PointSet& points, ThreadTeam& team,
                                 RunContext& context) {
    const size_t width = points.width();
    if (options.length_scales && options.length_scales->size() != width)
        throw Error(ErrorCode::invalid_argument,
                    format("the length of option \"length_scales\" is %zu, that of the points is %zu",
                           options.length_scales->size(), width));
    Likelihood likelihood(options, points, team, context);
    SquaredExponential& kernel = likelihood.kernel;
    kernel.length_scales.resize(width);
    std::vector<double> targets;
    for (size_t i = 0; i < points.size(); i++) targets.push_back(points.target(i));
    if (options.needs_target())
        kernel.mean = std::accumulate(targets.begin(), targets.end(), 0.0) / static_cast<double>(targets.size());
    const double variance = sample_variance(targets, kernel.mean);
    if (!std::isfinite(variance))
        throw Error(ErrorCode::out_of_range, "targets are too far from each other to take squares", "", "Scale them.");
    if (options.learns_kernel() && variance == 0)
        throw Error(ErrorCode::invalid_argument, "the kernel cannot be learned from targets that are all the same", "",
                    "Give length_scales, signal and noise.");
    std::vector<double> parameters = initial_parameters(options, points, variance);
    if (options.learns_kernel()) learn(parameters, options, likelihood, points.size(), variance, context);
    for (size_t f = 0; f < width; f++)
        kernel.length_scales[f] = options.length_scales ? (*options.length_scales)[f] : std::exp(parameters[f]);
    kernel.signal = options.signal.value_or(std::exp(parameters[width]));
    kernel.noise = options.noise.value_or(std::exp(parameters[width + 1]));
    if (options.learns_kernel()) context.note(description(kernel));
    return kernel;
}

} // namespace btml::exemplar
