#include "core/kernel/attention.hpp"

#include <algorithm>
#include <cmath>

namespace btml::kernel {

namespace {

double squared_norm(const double* x, size_t dimensions) {
    double sum = 0;
    for (size_t k = 0; k < dimensions; k++) sum += x[k] * x[k];
    return sum;
}

// By dimension: what its coordinates are multiplied by; see Scale.
std::vector<double> factors_of(const Points& keys, Scale scale) {
    const size_t rows = keys.rows();
    std::vector<double> factors(keys.dimensions(), 1.0);
    if (scale == Scale::none) return factors;
    for (size_t k = 0; k < factors.size(); k++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < rows; i++) mean += keys.row(i)[k] / static_cast<double>(rows);
        for (size_t i = 0; i < rows; i++) squares += (keys.row(i)[k] - mean) * (keys.row(i)[k] - mean);
        if (squares > 0) factors[k] = std::sqrt(static_cast<double>(rows - 1) / squares);
    }
    return factors;
}

// Keys times the factors, minus their mean, which changes all products with a query alike, with the coordinate that
// makes all norms equal.
Keys with_equal_norms(Keys given, const std::vector<double>& factors, RunContext& context) {
    Keys keys = std::move(given); // freed here: arguments live until the caller's statement ends
    const size_t dimensions = keys.points.dimensions(), rows = keys.rows();
    if (keys.columns == 0) throw Error(ErrorCode::invalid_argument, "keys have 0 values, at least 1 is needed");
    context.memory().require(sizeof(double) * rows * (dimensions + keys.columns + 2), "the keys of attention");
    Keys result(dimensions + 1, keys.columns + 1, context.memory());
    result.points.reserve(rows);
    result.values.reserve(rows * (keys.columns + 1));
    std::vector<double> mean(dimensions, 0.0), point(dimensions + 1), values(keys.columns + 1, 1.0);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < dimensions; k++) mean[k] += keys.points.row(i)[k] / static_cast<double>(rows);
    double largest = 0;
    for (size_t i = 0; i < rows; i++) {
        double* const key = keys.points.row(i);
        for (size_t k = 0; k < dimensions; k++) key[k] = (key[k] - mean[k]) * factors[k];
        largest = std::max(largest, squared_norm(key, dimensions));
    }
    for (size_t i = 0; i < rows; i++) {
        const double* const key = keys.points.row(i);
        std::copy_n(key, dimensions, point.begin());
        point[dimensions] = std::sqrt(std::max(0.0, largest - squared_norm(key, dimensions)));
        std::copy_n(&keys.values[i * keys.columns], keys.columns, values.begin() + 1);
        result.append(point, values);
    }
    return result;
}

Options with_bandwidth(Options options, size_t dimensions) {
    options.bandwidth = std::pow(static_cast<double>(dimensions), 0.25); // σ² = √d
    options.kernel = Kernel::gaussian;
    options.scale = Scale::none;
    return options;
}

} // namespace

// The keys' factors are found before they are moved from: initialisers run in the order of the members.
Attention::Attention(Keys keys, const Options& options, RunContext& context)
    : context_(context),
      factors_(factors_of(keys.points, options.scale)),
      sums_(with_equal_norms(std::move(keys), factors_, context), Quantity::mean,
            with_bandwidth(options, factors_.size()), context) {}

Estimates Attention::evaluate(const Points& queries) {
    const size_t dimensions = factors_.size();
    if (queries.dimensions() != dimensions)
        throw Error(ErrorCode::invalid_argument,
                    format("queries have %zu coordinates, keys have %zu", queries.dimensions(), dimensions));
    Points extended(dimensions + 1, context_.memory(), queries.what());
    extended.reserve(queries.rows());
    std::vector<double> point(dimensions + 1, 0.0);
    for (size_t i = 0; i < queries.rows(); i++) {
        for (size_t k = 0; k < dimensions; k++) point[k] = queries.row(i)[k] * factors_[k];
        extended.append(point);
    }
    return sums_.evaluate(extended);
}

} // namespace btml::kernel
