#pragma once

#include "core/pairwise/kernels/metrics.hpp"

namespace btml::pairwise {

// exp(−‖u‖₂²/2)
struct Gaussian {
    static constexpr const char* name = "gaussian";
    using Metric = Squares;
    static constexpr bool is_compact = false, takes_products = true;
    static constexpr double least = 0x1p-100;
    static double unit() { return std::sqrt(std::numbers::log2e / 2); }
    static double exponent(double sum) { return sum; }
    template <class Arithmetic, class Number = typename Arithmetic::Number>
    BTML_INLINE static Number value(Number sum) {
        return Arithmetic::power_of_half(sum);
    }
    static double log_integral(double d) { return d / 2 * std::log(2 * std::numbers::pi); }
};

} // namespace btml::pairwise
