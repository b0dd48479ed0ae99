// Gaussian processes with the binary tree kernel by dense linear algebra, and random data for them.
#pragma once

#include "core/gp/tree/likelihood.hpp"
#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

namespace btml::gp::test {

// A stream of random numbers.
class Random {
  public:
    explicit Random(uint64_t seed) : seed_(seed) {}
    double unit() { return random_unit(seed_, 77, next_++); }
    size_t below(size_t count) { return static_cast<size_t>(unit() * static_cast<double>(count)); }
    bool chance(double p) { return unit() < p; }
    double exponential() { return -std::log(1 - unit()); }
    double normal() { return std::sqrt(2 * exponential()) * std::cos(2 * std::numbers::pi * unit()); }

  private:
    uint64_t seed_, next_ = 0;
};

// Rows, their strings of '0' and '1' all of the same length, and a kernel.
struct PlainGp {
    std::vector<std::string> strings;
    std::vector<double> target, weight; // weight empty: 1 each
    Kernel kernel;

    size_t rows() const { return strings.size(); }
    double weight_of(size_t i) const { return weight.empty() ? 1 : weight[i]; }
};

struct GpShape {
    size_t rows = 40, levels = 12;
    double duplicates = 0.3; // rows with the string of another one
    double zeros = 0.2;      // levels of weight 0
    double alike = 0.5;      // chance that the next bit is that of the row before as long as all others were
    bool weights = false;
};

inline std::string random_string(const GpShape& shape, const std::vector<std::string>& others, Random& random) {
    if (!others.empty() && random.chance(shape.duplicates)) return others[random.below(others.size())];
    std::string string;
    const std::string* like = others.empty() ? nullptr : &others[random.below(others.size())];
    for (size_t level = 0; level < shape.levels; level++) {
        if (like && !random.chance(shape.alike)) like = nullptr;
        string.push_back(like ? (*like)[level] : random.chance(0.5) ? '1' : '0');
    }
    return string;
}

inline PlainGp random_gp(const GpShape& shape, uint64_t seed) {
    Random random(seed);
    PlainGp plain;
    for (size_t i = 0; i < shape.rows; i++) {
        plain.strings.push_back(random_string(shape, plain.strings, random));
        plain.target.push_back(random.normal());
        if (shape.weights) plain.weight.push_back(0.1 + 3 * random.unit());
    }
    for (size_t level = 0; level < shape.levels; level++)
        plain.kernel.weights.push_back(random.chance(shape.zeros) ? 0 : random.exponential());
    plain.kernel.noise = 0.01 + random.unit();
    return plain;
}

inline size_t common_levels(const std::string& a, const std::string& b) {
    size_t levels = 0;
    while (levels < a.size() && a[levels] == b[levels]) levels++;
    return levels;
}

// The rows in the order of their strings.
inline PlainGp sorted(const PlainGp& plain) {
    std::vector<size_t> order(plain.rows());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return plain.strings[a] < plain.strings[b]; });
    PlainGp result;
    result.kernel = plain.kernel;
    for (const size_t row : order) {
        result.strings.push_back(plain.strings[row]);
        result.target.push_back(plain.target[row]);
        if (!plain.weight.empty()) result.weight.push_back(plain.weight[row]);
    }
    return result;
}

inline std::vector<uint16_t> common_of_neighbours(const PlainGp& plain) {
    std::vector<uint16_t> common;
    for (size_t i = 0; i + 1 < plain.rows(); i++)
        common.push_back(static_cast<uint16_t>(common_levels(plain.strings[i], plain.strings[i + 1])));
    if (plain.rows() > 0) common.push_back(0);
    return common;
}

// A matrix, row by row, or a vector; in long double, to be much nearer to the truth than what is compared with it.
using Dense = std::vector<long double>;

// The covariance of the latent function at the strings.
inline Dense dense_covariance(const std::vector<std::string>& a, const std::vector<std::string>& b,
                              const Kernel& kernel) {
    Dense covariances{0}, matrix;
    for (const double weight : kernel.weights) covariances.push_back(covariances.back() + weight);
    for (const std::string& x : a)
        for (const std::string& z : b) matrix.push_back(covariances[common_levels(x, z)]);
    return matrix;
}

class Cholesky {
  public:
    explicit Cholesky(const Dense& matrix) : rows_(static_cast<size_t>(std::lround(std::sqrt(matrix.size())))) {
        factor_.assign(rows_ * rows_, 0);
        for (size_t i = 0; i < rows_; i++)
            for (size_t j = 0; j <= i; j++) {
                long double sum = matrix[i * rows_ + j];
                for (size_t k = 0; k < j; k++) sum -= at(i, k) * at(j, k);
                factor_[i * rows_ + j] = i == j ? std::sqrt(sum) : sum / at(j, j);
            }
    }
    long double log_determinant() const {
        long double sum = 0;
        for (size_t i = 0; i < rows_; i++) sum += 2 * std::log(at(i, i));
        return sum;
    }
    Dense solve(Dense x) const {
        for (size_t i = 0; i < rows_; i++) {
            for (size_t k = 0; k < i; k++) x[i] -= at(i, k) * x[k];
            x[i] /= at(i, i);
        }
        for (size_t i = rows_; i-- > 0;) {
            for (size_t k = i + 1; k < rows_; k++) x[i] -= at(k, i) * x[k];
            x[i] /= at(i, i);
        }
        return x;
    }

  private:
    long double at(size_t i, size_t j) const { return factor_[i * rows_ + j]; }

    size_t rows_;
    Dense factor_;
};

inline long double dot(const Dense& a, const Dense& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0L);
}

inline Dense dense(const std::vector<double>& values) {
    return {values.begin(), values.end()};
}

// A = K + λ/w on the diagonal.
inline Dense observed_covariance(const PlainGp& plain) {
    Dense matrix = dense_covariance(plain.strings, plain.strings, plain.kernel);
    for (size_t i = 0; i < plain.rows(); i++)
        matrix[i * plain.rows() + i] += static_cast<long double>(plain.kernel.noise) / plain.weight_of(i);
    return matrix;
}

inline double dense_negative_log_likelihood(const PlainGp& plain) {
    const Cholesky factor(observed_covariance(plain));
    const Dense target = dense(plain.target);
    return static_cast<double>(
        (dot(target, factor.solve(target)) + factor.log_determinant() +
         static_cast<long double>(plain.rows()) * std::log(2 * std::numbers::pi_v<long double>)) /
        2);
}

// ½ tr(A⁻¹ ∂A) − ½ y'A⁻¹ ∂A A⁻¹y for each weight and the noise.
inline Gradient dense_gradient(const PlainGp& plain) {
    const size_t rows = plain.rows();
    const Cholesky factor(observed_covariance(plain));
    const Dense solved = factor.solve(dense(plain.target));
    std::vector<Dense> inverse;
    for (size_t i = 0; i < rows; i++) {
        Dense unit(rows, 0.0L);
        unit[i] = 1;
        inverse.push_back(factor.solve(unit));
    }
    Dense weights(plain.kernel.levels(), 0.0L);
    long double noise = 0;
    for (size_t i = 0; i < rows; i++) {
        noise += (inverse[i][i] - solved[i] * solved[i]) / plain.weight_of(i) / 2;
        for (size_t j = 0; j < rows; j++)
            for (size_t level = 0; level < common_levels(plain.strings[i], plain.strings[j]); level++)
                weights[level] += (inverse[i][j] - solved[i] * solved[j]) / 2;
    }
    return {{weights.begin(), weights.end()}, static_cast<double>(noise)};
}

// Within 1e-9 of the larger of the expected value and `scale`.
inline void expect_near(double value, double expected, double scale = 0, const std::string& what = "") {
    EXPECT_NEAR(value, expected, 1e-9 * std::max(std::abs(expected), scale)) << what;
}

inline double largest(const std::vector<double>& values) {
    double most = 0;
    for (const double value : values) most = std::max(most, std::abs(value));
    return most;
}

// Shapes from one row to hundreds of levels, by seed.
inline GpShape shape_of(uint64_t seed) {
    static constexpr size_t rows[] = {1, 2, 3, 8, 40, 70}, levels[] = {0, 1, 7, 30, 64, 65, 400};
    GpShape shape;
    shape.rows = rows[seed % 6];
    shape.levels = levels[seed % 7];
    shape.duplicates = seed % 5 == 0 ? 1 : seed % 5 == 1 ? 0 : 0.3;
    shape.zeros = seed % 11 == 0 ? 1 : 0.2;
    shape.alike = seed % 3 == 0 ? 0.5 : 0.97;
    shape.weights = seed % 4 == 3;
    return shape;
}

} // namespace btml::gp::test
