// What definitions of metrics share: checks of a row's numbers, terms, means.
#pragma once

#include "core/metrics/metric.hpp"
#include "core/numbers/elementary.hpp"

#include <cmath>
#include <limits>

namespace btml::metrics {

// Returns x. Error out_of_range, naming the argument and its value, unless the number is as it must be.
double require(bool holds, const char* name, const char* must, double x);
inline double require_not_nan(const char* name, double x) {
    return require(!std::isnan(x), name, "a number", x);
}
inline double require_finite(const char* name, double x) {
    return require(std::isfinite(x), name, "finite", x);
}
inline double require_not_negative(const char* name, double x) {
    return require(x >= 0 && std::isfinite(x), name, "finite and not negative", x);
}
inline double require_positive(const char* name, double x) {
    return require(x > 0 && std::isfinite(x), name, "finite and greater than 0", x);
}
inline double require_probability(const char* name, double x) {
    return require(x >= 0 && x <= 1, name, "from 0 to 1", x);
}

// Error out_of_range for a term that is not finite, of numbers that are.
double require_no_overflow(double term);

// Adds a · b, of which no digit is lost that the sum has.
inline void add_product(const ScaledNumber& a, const ScaledNumber& b, WideSum& sum) {
    const double product = a.mantissa * b.mantissa;
    sum.add(ScaledNumber(product, a.exponent + b.exponent));
    sum.add(ScaledNumber(std::fma(a.mantissa, b.mantissa, -product), a.exponent + b.exponent));
}

// Returns ln x of a positive x, the same bits on every processor: training stops by metrics.
inline double natural_logarithm(double x) {
    constexpr double up = 0x1p54, log_up = 37.42994775023704767; // makes any number a normal one
    return x < std::numeric_limits<double>::min() ? logarithm(x * up) - log_up : logarithm(x);
}
// Returns ln(1 + x) for x > −1, the same bits on every processor. What 1 + x rounds is taken off by the first term of
// the series.
inline double natural_logarithm_1p(double x) {
    const double sum = 1 + x;
    return logarithm(sum) - ((sum - 1) - x) / sum;
}

// The weighted mean of a term. Neither the product with a weight nor the sum need be within the range of doubles.
template <double (*term)(const double* row)>
void add_mean(const double* row, double weight, WideSum* sums) {
    const double x = require_no_overflow(term(row));
    weight == 1 ? sums->add(x) : sums->add(ScaledNumber(weight) * ScaledNumber(x));
}
inline std::optional<double> mean(const WideSum* sums, const WideSum& weight) {
    return require_no_overflow((sums->scaled() / weight.scaled()).nearest());
}

// The same of the term's square.
template <double (*term)(const double* row)>
void add_mean_square(const double* row, double weight, WideSum* sums) {
    const ScaledNumber x(term(row));
    sums->add(ScaledNumber(weight) * (x * x));
}

} // namespace btml::metrics
