#include "core/kernel/attention.hpp"

#include "core/kernel/key_set.hpp"

#include <algorithm>
#include <cmath>

namespace btml::kernel {

namespace {

double squared_norm(const double* x, size_t dimensions) {
    double sum = 0;
    for (size_t k = 0; k < dimensions; k++) sum += x[k] * x[k];
    return sum;
}

// Centred on the keys' mean, which changes all products with a query alike.
Coordinates coordinates_of(const Keys& keys, Scale scale, RunContext& context) {
    if (keys.columns == 0) throw Error(ErrorCode::invalid_argument, "keys have 0 values, at least 1 is needed");
    if (keys.rows() == 0) throw Error(ErrorCode::invalid_argument, "there are no keys");
    return {keys.points, canonical_order(keys, context), 1, scale, 1, context};
}

// Keys in these coordinates, with the coordinate that makes all norms equal.
Keys with_equal_norms(Keys given, const Coordinates& coordinates, RunContext& context) {
    Keys keys = std::move(given); // freed here: arguments live until the caller's statement ends
    const size_t dimensions = keys.points.dimensions(), rows = keys.rows();
    context.memory().require(sizeof(double) * rows * (dimensions + keys.columns + 2), "the keys of attention");
    Keys result(dimensions + 1, keys.columns + 1, context.memory());
    result.points.reserve(rows);
    result.values.reserve(rows * (keys.columns + 1));
    std::vector<double> point(dimensions + 1), values(keys.columns + 1, 1.0);
    double largest = 0;
    for (size_t i = 0; i < rows; i++) {
        double* const key = keys.points.row(i);
        coordinates.apply(key, key);
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
    options.bandwidth = std::pow(dimensions, 0.25); // σ² = √d
    options.kernel = kernel_of<Gaussian>;
    options.scale = Scale::none;
    return options;
}

} // namespace

// The coordinates are found before they are moved from: initialisers run in the order of the members.
Attention::Attention(Keys keys, const Options& options, RunContext& context)
    : context_(context),
      coordinates_(coordinates_of(keys, options.scale, context)),
      sums_(with_equal_norms(std::move(keys), coordinates_, context), Quantity::mean,
            with_bandwidth(options, coordinates_.centre.size()), context) {}

uint64_t Attention::queries_that_fit(uint64_t wanted, uint64_t bytes_of_query) const {
    return sums_.queries_that_fit(wanted, bytes_of_query + sizeof(double) * (coordinates_.centre.size() + 1));
}

Estimates Attention::evaluate(const Points& queries, uint64_t all) {
    const size_t dimensions = coordinates_.centre.size();
    if (queries.dimensions() != dimensions)
        throw Error(ErrorCode::invalid_argument,
                    format("queries have %zu coordinates, keys have %zu", queries.dimensions(), dimensions));
    Points extended(dimensions + 1, context_.memory(), queries.what());
    extended.reserve(queries.rows());
    std::vector<double> point(dimensions + 1, 0.0);
    for (size_t i = 0; i < queries.rows(); i++) {
        for (size_t k = 0; k < dimensions; k++) point[k] = queries.row(i)[k] * coordinates_.factor[k];
        extended.append(point);
    }
    return sums_.evaluate(extended, all);
}

} // namespace btml::kernel
