#include "core/gp/tree/observations.hpp"

#include <cmath>
#include <numeric>

namespace btml::gp {

static constexpr double min_weight = 1e-40, max_weight = 1e40;

void validate_observation(double target, double weight) {
    if (!std::isfinite(target))
        throw Error(ErrorCode::invalid_argument, format("a target of %s is not finite", shortest(target).c_str()));
    if (!(weight >= min_weight && weight <= max_weight))
        throw Error(ErrorCode::invalid_argument, format("invalid weight %g", weight), {},
                    format("A weight is a number from %g to %g.", min_weight, max_weight));
}

Observations make_observations(std::span<const double> target, std::span<const double> weight, RunContext& context) {
    Observations result{.target = Buffer<double>(context.memory(), "targets", target.size()),
                        .weight = Buffer<double>(context.memory(), "weights", weight.size())};
    context.for_each(target.size(), 1,
                     [&](size_t i) { validate_observation(target[i], weight.empty() ? 1 : weight[i]); });
    std::copy(target.begin(), target.end(), result.target.begin());
    std::copy(weight.begin(), weight.end(), result.weight.begin());
    return result;
}

double unit_of_weights(std::span<const double> weight) {
    if (weight.empty()) return 1;
    const double mean = std::accumulate(weight.begin(), weight.end(), 0.0) / static_cast<double>(weight.size());
    return std::scalbn(1.0, std::ilogb(mean));
}

void divide_weights(Observations& observations, double unit) {
    for (double& weight : observations.weight) weight /= unit;
}

static void gather(const Buffer<double>& values, std::span<const uint32_t> order, Buffer<double>& sorted,
                   RunContext& context) {
    sorted.resize(values.size());
    context.for_each(values.size(), 1, [&](size_t i) { sorted[i] = values[order[i]]; });
}

void gather(const Observations& observations, std::span<const uint32_t> order, Observations& sorted,
            RunContext& context) {
    gather(observations.target, order, sorted.target, context);
    gather(observations.weight, order, sorted.weight, context);
    sorted.merged = observations.merged;
    sorted.residual = observations.residual;
    sorted.log_weights = observations.log_weights;
}

} // namespace btml::gp
