#include "core/exemplar/squared_exponential.hpp"

#include "core/gp/sparse/likelihood_search.hpp"
#include "core/numbers/usual_range.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace btml::exemplar {

namespace {

double sample_variance(const std::vector<double>& values, double mean) {
    double sum = 0;
    for (const double value : values) sum += (value - mean) * (value - mean);
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Keeps the numbers in their usual range.
void drop_far(std::vector<double>& values) {
    if (values.empty()) return;
    const UsualRange usual = usual_range([&](const auto& body) { std::ranges::for_each(values, body); });
    std::erase_if(values, [&](double x) { return !usual.contains(x); });
}

// Returns the spread of each coordinate, or 1 where that is 0.
std::vector<double> spreads_of(const PointSet& points) {
    std::vector<double> spreads, values(points.size());
    for (size_t f = 0; f < points.width(); f++) {
        values.resize(points.size());
        for (size_t i = 0; i < points.size(); i++) values[i] = points.x(i)[f];
        drop_far(values);
        const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
        const double spread = std::sqrt(sample_variance(values, mean));
        spreads.push_back(spread > 0 ? spread : 1);
    }
    return spreads;
}

// Fills in what the options leave open. The likelihood is that of coordinates in units of their spreads, and of targets
// in units of their deviation.
void learn(SquaredExponential& kernel, const Options& options, const PointSet& points, double variance,
           ThreadTeam& team, RunContext& context) {
    const size_t width = points.width(), count = points.size();
    const std::vector<double> spreads = spreads_of(points);
    Buffer<double> coordinates(context.memory(), "points", count * width);
    std::vector<double> targets(count);
    for (size_t i = 0; i < count; i++) {
        for (size_t f = 0; f < width; f++) coordinates[i * width + f] = points.x(i)[f] / spreads[f];
        targets[i] = (points.target(i) - kernel.mean) / std::sqrt(variance);
    }
    gp::SmoothKernel of_units;
    for (size_t f = 0; f < width; f++)
        of_units.inverse_lengths.push_back(options.length_scales ? spreads[f] / (*options.length_scales)[f]
                                                                 : 1 / std::sqrt(static_cast<double>(width)));
    gp::GivenParameters given{options.signal, options.noise, options.length_scales.has_value()};
    if (given.signal) *given.signal /= variance;
    if (given.noise) *given.noise /= variance;
    const Share unknown(context, 0, 0); // next to the choice's
    gp::learn_kernel(of_units, {coordinates.span(), width, targets}, given, options.seed, team, context);
    for (size_t f = 0; f < width; f++) kernel.length_scales[f] = spreads[f] / of_units.inverse_lengths[f];
    kernel.signal = variance * of_units.signal;
    kernel.noise = variance * of_units.noise;
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
    SquaredExponential kernel{std::vector<double>(width)};
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
    if (options.learns_kernel()) learn(kernel, options, points, variance, team, context);
    if (options.length_scales) kernel.length_scales = *options.length_scales;
    kernel.signal = options.signal.value_or(kernel.signal);
    kernel.noise = options.noise.value_or(kernel.noise);
    if (options.learns_kernel()) context.note(description(kernel));
    return kernel;
}

} // namespace btml::exemplar
