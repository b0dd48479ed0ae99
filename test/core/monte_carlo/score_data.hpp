// Rows and reference scores for the tests of cross-validation scores.
#pragma once

#include "core/monte_carlo/score_form.hpp"
#include "core/monte_carlo/score_rows.hpp"
#include "core/numbers/rng.hpp"

#include "kernel_values.hpp"

#include <cmath>
#include <numbers>
#include <vector>

namespace btml::test {

using monte_carlo::ScoreRows;

// Standard normal, by Box and Muller.
inline double normal(RandomStream& random) {
    const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
    return radius * std::cos(2 * std::numbers::pi * random.unit());
}

// Student's t with 2.5 degrees of freedom: a normal number over the root of G/1.25, where G has the gamma distribution
// of shape 1.25: the sum of an exponential number and one of shape 0.25, the latter by Jöhnk's rejection.
inline double student(RandomStream& random) {
    constexpr double a = 0.25;
    for (;;) {
        const double u = std::pow(random.unit(), 1 / a), v = std::pow(random.unit(), 1 / (1 - a));
        if (u + v > 1 || u + v == 0) continue;
        const double gamma = u / (u + v) * -std::log(1 - random.unit()) - std::log(1 - random.unit());
        return normal(random) / std::sqrt(gamma / 1.25);
    }
}

struct ScoreDataOptions {
    bool target = true;
    bool heavy = false;    // residuals with Student's distribution
    double duplicates = 0; // fraction of rows that repeat another
};

// Clusters in `dimensions` dimensions, with a smooth target and noise.
inline ScoreRows score_rows(size_t rows, size_t dimensions, uint64_t seed, MemoryBudget& budget,
                            const ScoreDataOptions& options = {}) {
    ScoreRows result(dimensions, options.target, budget);
    RandomStream random(seed, 77);
    std::vector<double> row(result.width());
    for (size_t i = 0; i < rows; i++) {
        if (i == 0 || random.unit() >= options.duplicates) {
            const double cluster = std::floor(3 * random.unit());
            for (size_t k = 0; k < dimensions; k++) row[k] = normal(random) * 0.4 + (k == 0 ? cluster : 0);
            if (options.target)
                row[dimensions] = 3 * std::sin(2 * row[0]) + (options.heavy ? student(random) : normal(random)) + 5;
        }
        for (const double x : row) result.values.push_back(x);
    }
    return result;
}

inline double square_distance(const ScoreRows& rows, size_t i, size_t j) {
    double sum = 0;
    for (size_t k = 0; k < rows.dimensions; k++) {
        const double difference = rows.row(i)[k] - rows.row(j)[k];
        sum += difference * difference;
    }
    return sum;
}

inline double normal_density(double square, double variance, size_t dimensions) {
    return std::exp(-square / (2 * variance)) *
           std::pow(2 * std::numbers::pi * variance, -0.5 * static_cast<double>(dimensions));
}

// k(x_i − x_j) of the bandwidth h.
inline double weight_of(const ScoreRows& rows, size_t i, size_t j, double h, pairwise::Kernel kernel) {
    const auto point = [&](size_t row) { return std::vector<double>(rows.row(row), rows.row(row) + rows.dimensions); };
    return kernel_value(kernel, point(i), point(j), h);
}

// The same with an integral of 1.
inline double density_of(const ScoreRows& rows, size_t i, size_t j, double h, pairwise::Kernel kernel) {
    const auto d = static_cast<double>(rows.dimensions);
    return weight_of(rows, i, j, h, kernel) * std::exp(-facts_of(kernel).log_integral(d) - d * std::log(h));
}

// The convolution of that with itself: of Matérn kernels of order ν in d dimensions one of order μ = 2ν + d/2, whose
// spectral density is the square.
inline double convolution_of(const ScoreRows& rows, size_t i, size_t j, double h, pairwise::Kernel kernel) {
    const double square = square_distance(rows, i, j), nu = facts_of(kernel).order;
    if (std::isinf(nu)) return normal_density(square, 2 * h * h, rows.dimensions);
    const auto d = static_cast<double>(rows.dimensions);
    const double mu = 2 * nu + d / 2, scale = std::sqrt(2 * nu) / h, a = scale * std::sqrt(square),
                 log_peak = d * std::log(scale / (2 * std::sqrt(std::numbers::pi))) + std::lgamma(mu) -
                            std::lgamma(mu + d / 2);
    if (a < 1e-6) return std::exp(log_peak);
    return std::exp(log_peak + (1 - mu) * std::numbers::ln2 - std::lgamma(mu) + mu * std::log(a)) *
           (a < 690 ? std::cyl_bessel_k(mu, a) : 0);
}

// The scores as they are defined.
inline double reference_kr(const ScoreRows& rows, double h, pairwise::Kernel kernel = {}) {
    const size_t n = rows.size(), d = rows.dimensions;
    double score = 0;
    for (size_t i = 0; i < n; i++) {
        double weights = 0, products = 0;
        for (size_t j = 0; j < n; j++) {
            if (j == i) continue;
            const double weight = weight_of(rows, i, j, h, kernel);
            weights += weight;
            products += weight * rows.row(j)[d];
        }
        const double residual = rows.row(i)[d] - products / weights;
        score += residual * residual / static_cast<double>(n);
    }
    return score;
}

inline double reference_kde(const ScoreRows& rows, double h, pairwise::Kernel kernel = {}) {
    const size_t n = rows.size();
    const double others = static_cast<double>(n - 1);
    double score = 0;
    for (size_t i = 0; i < n; i++) {
        double square = 0, value = 0;
        for (size_t j = 0; j < n; j++) {
            if (j == i) continue;
            value += density_of(rows, i, j, h, kernel);
            for (size_t k = 0; k < n; k++)
                if (k != i) square += convolution_of(rows, j, k, h, kernel);
        }
        score += (square / (others * others) - 2 / others * value) / static_cast<double>(n);
    }
    return score;
}

inline double reference_likelihood(const ScoreRows& rows, double h, pairwise::Kernel kernel = {}) {
    const size_t n = rows.size();
    double score = 0;
    for (size_t i = 0; i < n; i++) {
        double density = 0;
        for (size_t j = 0; j < n; j++)
            if (j != i) density += density_of(rows, i, j, h, kernel);
        score -= std::log(density / static_cast<double>(n - 1)) / static_cast<double>(n);
    }
    return score;
}

inline double reference_kcde(const ScoreRows& rows, double h2, double h1, pairwise::Kernel kernel = {}) {
    const size_t n = rows.size(), d = rows.dimensions;
    double score = 0;
    for (size_t i = 0; i < n; i++) {
        double weights = 0, value = 0, square = 0;
        for (size_t j = 0; j < n; j++) {
            if (j == i) continue;
            const double weight = weight_of(rows, i, j, h2, kernel);
            const double off = rows.row(i)[d] - rows.row(j)[d];
            weights += weight;
            value += weight * normal_density(off * off, h1 * h1, 1);
            for (size_t k = 0; k < n; k++) {
                const double between = rows.row(j)[d] - rows.row(k)[d];
                if (k != i)
                    square +=
                        weight * weight_of(rows, i, k, h2, kernel) * normal_density(between * between, 2 * h1 * h1, 1);
            }
        }
        score += (square / (weights * weights) - 2 * value / weights) / static_cast<double>(n);
    }
    return score;
}

} // namespace btml::test
