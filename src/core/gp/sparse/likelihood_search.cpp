#include "core/gp/sparse/likelihood_search.hpp"

#include "core/algebra/cholesky.hpp"
#include "core/gp/sparse/inducing_rows.hpp"
#include "core/numbers/lbfgs.hpp"

#include <algorithm>
#include <cmath>

namespace btml::gp {

namespace {

constexpr const char* what_likelihood = "derivatives of a likelihood";

constexpr std::pair<size_t, int> stages[] = {{500, 40}, {1'000, 15}}; // rows, and evaluations

} // namespace

std::vector<double> bounded_parameters(std::span<const double> parameters, const GivenParameters& given) {
    const double limit = std::log(1e6), max_signal = std::log(30.0), min_share = std::log(min_noise_share);
    std::vector<double> inside(parameters.begin(), parameters.end());
    double &noise = inside[inside.size() - 1], &signal = inside[inside.size() - 2];
    const double given_noise = noise, given_signal = signal;
    const size_t lengths = given.lengths ? inside.size() - 2 : 0;
    for (size_t p = lengths; p < inside.size(); p++) inside[p] = std::clamp(inside[p], -limit, limit);
    signal = given.signal ? given_signal : std::min(signal, max_signal);
    noise = given.noise ? given_noise : std::max(noise, signal + min_share);
    return inside;
}

// With K the observations' covariances and α = K⁻¹y, the derivatives by K are (αα' − K⁻¹)/2.
Likelihood likelihood_of(const SmoothKernel& kernel, const SmoothRows& rows, ThreadTeam& team, RunContext& context) {
    const size_t size = rows.size();
    Buffer<double> matrix = covariance_matrix(kernel, rows.points, team, context);
    for (size_t i = 0; i < size; i++) matrix[i * size + i] += kernel.noise / rows.weight(i);
    const algebra::Cholesky factor(std::move(matrix), size, team);
    std::vector<double> solution(rows.targets.begin(), rows.targets.end());
    factor.solve(solution.data(), team);
    Buffer<double> derivatives(context.memory(), what_likelihood, size * size);
    factor.invert(derivatives.data(), team);
    double quadratic = 0, noise_slope = 0;
    for (size_t i = 0; i < size; i++) {
        quadratic += solution[i] * rows.targets[i];
        for (size_t j = 0; j < size; j++) {
            double& derivative = derivatives[i * size + j];
            derivative = (solution[i] * solution[j] - derivative) / 2;
        }
        noise_slope += derivatives[i * size + i] * kernel.noise / rows.weight(i);
    }
    std::vector<double> slopes(kernel.width() + 2);
    add_slopes_of_matrix(kernel, rows.points, derivatives, slopes, {}, team, context);
    slopes.back() = noise_slope;
    return {-(quadratic + factor.log_determinant() + static_cast<double>(size) * std::log(2 * M_PI)) / 2,
            std::move(slopes)};
}

int maximise_likelihood(SmoothKernel& kernel, const SmoothRows& rows, const GivenParameters& given, int evaluations,
                        ThreadTeam& team, RunContext& context) {
    constexpr double min_gain = 2e-5, longest_step = 1; // nats a row, in a logarithm
    const double n = static_cast<double>(rows.size());
    if (given.signal) kernel.signal = *given.signal;
    if (given.noise) kernel.noise = *given.noise;
    std::vector<double> parameters = parameters_of(kernel);
    const size_t signal = kernel.width(), noise = signal + 1;
    uint64_t done = 0;
    const auto negative_likelihood = [&](std::span<const double> at, std::span<double> gradient) {
        const std::vector<double> inside = bounded_parameters(at, given);
        set_parameters(kernel, inside);
        const Likelihood found = likelihood_of(kernel, rows, team, context);
        for (size_t p = 0; p < inside.size(); p++) gradient[p] = inside[p] == at[p] ? -found.slopes[p] / n : 0;
        if (given.lengths) std::fill_n(gradient.begin(), signal, 0.0);
        if (given.signal) gradient[signal] = 0;
        if (given.noise) gradient[noise] = 0;
        context.share_progress("learning the kernel", ++done, static_cast<uint64_t>(evaluations));
        return -found.log / n;
    };
    const Minimum found = minimise(parameters, negative_likelihood, evaluations, min_gain, longest_step);
    set_parameters(kernel, bounded_parameters(parameters, given));
    return found.evaluations;
}

int learn_kernel(SmoothKernel& kernel, const SmoothRows& rows, const GivenParameters& given, uint64_t seed,
                 ThreadTeam& team, RunContext& context) {
    int evaluations = 0;
    for (const auto& [count, most] : stages) {
        const RowSubset some(rows, spread_rows(rows.size(), count, seed), context.memory());
        evaluations += maximise_likelihood(kernel, some.rows(), given, most, team, context);
        if (some.targets.size() == rows.size()) break;
    }
    return evaluations;
}

} // namespace btml::gp
