#pragma once

#include "core/pairwise/kernels/metrics.hpp"

namespace btml::pairwise {

// max(0, 1 − ‖u‖₂²)
struct Epanechnikov {
    static constexpr const char* name = "epanechnikov";
    using Metric = Squares;
    static constexpr bool is_compact = true, takes_products = false; // at its edge it is a difference of numbers near 1
    static constexpr double rate = 1, order = 0, least = 0;
    static double unit() { return 1; }
    static double exponent(double sum) { return sum; }
    template <class Arithmetic, class Number = typename Arithmetic::Number>
    BTML_INLINE static Number value(Number sum) {
        return Arithmetic::larger(Arithmetic::number(1) - sum, Arithmetic::number(0));
    }
    // Returns the logarithm of the volume of the unit ball times 2/(d + 2).
    static double log_integral(double d) {
        return d / 2 * std::log(std::numbers::pi) - std::lgamma(d / 2 + 1) + std::log(2 / (d + 2));
    }
    static double log_volume(double bandwidth, double d) { return log_integral(d) + d * std::log(bandwidth); }
};

} // namespace btml::pairwise
