#pragma once

#include "core/pairwise/kernels/metrics.hpp"

namespace btml::pairwise {

// (1 + a + a²/3)·e^−a with a = √5·‖u‖₂ (Matérn: Spatial Variation, 1960; ν = 5/2).
struct Matern52 {
    static constexpr const char* name = "matern52";
    using Metric = Squares;
    static constexpr bool is_compact = false, takes_products = true;
    static constexpr double least = 0x1p-89; // 1,700·2^−100
    static double unit() { return std::numbers::log2e * std::sqrt(5.0); }
    static double exponent(double sum) {
        const double distance = std::sqrt(sum), a = std::numbers::ln2 * distance;
        return distance - std::log2(1 + a * (1 + a / 3));
    }
    template <class Arithmetic, class Number = typename Arithmetic::Number>
    BTML_INLINE static Number value(Number sum) {
        const Number one = Arithmetic::number(1), distance = Arithmetic::root(sum),
                     a = Arithmetic::number(std::numbers::ln2) * distance;
        const Number polynomial = one + a * (one + a * Arithmetic::number(1.0 / 3));
        return Arithmetic::smaller(polynomial * Arithmetic::power_of_half(distance), one);
    }
    static double log_integral(double d) {
        return log_integral_of_exponential(d) - d / 2 * std::log(5.0) + std::log((d + 1) * (d + 3) / 3);
    }
};

} // namespace btml::pairwise
