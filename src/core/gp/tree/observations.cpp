#include "core/gp/tree/observations.hpp"

#include "core/gp/tree/row_sorter.hpp"

#include <cmath>
#include <numeric>

namespace btml::gp {

void validate_observation(double target, double weight) {
    if (!std::isfinite(target))
        throw Error(ErrorCode::out_of_range, format("a target of %s is not finite", shortest(target).c_str()));
    if (!(weight >= min_row_weight && weight <= max_row_weight))
        throw Error(ErrorCode::out_of_range, format("invalid weight %g", weight), {},
                    format("A weight is a number from %g to %g.", min_row_weight, max_row_weight));
}

Observations make_observations(std::span<const double> target, std::span<const double> weight, RunContext& context) {
    Observations result(context.memory());
    result.target.resize(target.size());
    result.weight.resize(weight.size());
    std::copy(target.begin(), target.end(), result.target.begin());
    std::copy(weight.begin(), weight.end(), result.weight.begin());
    context.for_each(target.size(), 1, [&](size_t i) { validate_observation(target[i], result.weight_of(i)); });
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

static void gather(const Buffer<double>& values, std::span<const uint32_t> entries, Buffer<double>& gathered,
                   RunContext& context) {
    gathered.resize(values.empty() ? 0 : entries.size());
    context.for_each(gathered.size(), 1, [&](size_t i) { gathered[i] = values[entries[i]]; });
}

void gather(const Observations& observations, std::span<const uint32_t> entries, Observations& gathered,
            RunContext& context) {
    gather(observations.target, entries, gathered.target, context);
    gather(observations.weight, entries, gathered.weight, context);
    gathered.merged = observations.merged;
    gathered.residual = observations.residual;
    gathered.log_weights = observations.log_weights;
}

DistinctRows merge_equal_rows(const BitRows& rows, size_t bits, const Observations& observations, RunContext& context) {
    std::vector<uint16_t> all(bits);
    std::iota(all.begin(), all.end(), 0);
    const SortedRows sorted = sort_rows(rows, all, context);
    DistinctRows result{{0, rows.words, Buffer<uint64_t>(context.memory(), "rows' bits")},
                        Observations(context.memory())};
    Observations& merged = result.observations;
    merged.merged = observations.merged;
    merged.residual = observations.residual;
    merged.log_weights = observations.log_weights;
    for (size_t begin = 0, end = 0; begin < rows.rows; begin = end) {
        double mean = 0, weight = 0, logs = 0;
        do {
            context.worked(4);
            const uint32_t row = sorted.rows[end];
            const double w = observations.weight_of(row), difference = observations.target[row] - mean;
            merged.residual += weight * w / (weight + w) * difference * difference;
            weight += w;
            mean += difference * (w / weight);
            logs += std::log(w);
        } while (++end < rows.rows && sorted.common[end - 1] == bits);
        for (size_t word = 0; word < rows.words; word++) result.rows.data.push_back(rows.row(sorted.rows[begin])[word]);
        merged.target.push_back(mean);
        merged.weight.push_back(weight);
        merged.merged += static_cast<double>(end - begin - 1);
        if (end - begin > 1) merged.log_weights += logs - std::log(weight);
        result.rows.rows++;
    }
    return result;
}

} // namespace btml::gp
