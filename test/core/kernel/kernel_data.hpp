// Points for tests of kernel sums, and the sums by brute force.
#pragma once

#include "core/kernel/kernel_sums.hpp"
#include "core/numbers/rng.hpp"

#include "kernel_values.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

namespace btml::test {

using Rows = std::vector<std::vector<double>>;

// Normal numbers by Box and Muller.
class Normals {
  public:
    explicit Normals(uint64_t seed) : stream_(seed, 0) {}
    double operator()() {
        return std::sqrt(-2 * std::log(1 - stream_.unit())) * std::cos(2 * std::numbers::pi * stream_.unit());
    }
    double unit() { return stream_.unit(); }
    size_t below(size_t count) { return stream_.below(count); }

  private:
    RandomStream stream_;
};

inline Rows normal_rows(size_t rows, size_t dimensions, double sd, uint64_t seed) {
    Normals normal(seed);
    Rows result(rows, std::vector<double>(dimensions));
    for (auto& row : result)
        for (double& x : row) x = sd * normal();
    return result;
}

// Blobs whose centres are uniform in a cube of this side.
inline Rows blob_rows(size_t rows, size_t dimensions, size_t blobs, double side, double sd, uint64_t seed) {
    Normals normal(seed);
    Rows centres(blobs, std::vector<double>(dimensions));
    for (auto& row : centres)
        for (double& x : row) x = side * normal.unit();
    Rows result(rows, std::vector<double>(dimensions));
    for (auto& row : result) {
        const auto& centre = centres[normal.below(blobs)];
        for (size_t k = 0; k < dimensions; k++) row[k] = centre[k] + sd * normal();
    }
    return result;
}

inline kernel::Points points_of(const Rows& rows, RunContext& context, const char* what = "queries") {
    kernel::Points points(rows.at(0).size(), context.memory(), what);
    for (const auto& row : rows) points.append(row);
    return points;
}

// values[row][column]
inline kernel::Keys keys_of(const Rows& rows, const Rows& values, RunContext& context) {
    kernel::Keys keys(rows.at(0).size(), values.at(0).size(), context.memory());
    for (size_t i = 0; i < rows.size(); i++) keys.append(rows[i], values[i]);
    return keys;
}

// Σ_j value_jc·k and Σ_j |value_jc|·k.
struct BruteForce {
    long double sum = 0, magnitude = 0;
};
inline BruteForce brute_force(kernel::Kernel kernel, const Rows& keys, const Rows& values, size_t column,
                              const std::vector<double>& query, double bandwidth) {
    BruteForce result;
    for (size_t j = 0; j < keys.size(); j++) {
        const long double term = values[j][column] * kernel_value(kernel, query, keys[j], bandwidth);
        result.sum += term;
        result.magnitude += std::abs(term);
    }
    return result;
}

inline kernel::Options exact_options(double bandwidth, kernel::Kernel kernel = {}) {
    kernel::Options options;
    options.bandwidth = bandwidth;
    options.kernel = kernel;
    options.method = kernel::Method::exact;
    return options;
}

inline Rows constant_values(size_t rows, double value = 1) {
    return Rows(rows, {value});
}

} // namespace btml::test
