#pragma once

#include "core/pairwise/kernels/metrics.hpp"

namespace btml::pairwise {

// (1 + a)·e^−a with a = √3·‖u‖₂ (Matérn: Spatial Variation, 1960; ν = 3/2).
struct Matern32 {
    static constexpr const char* name = "matern32";
    using Metric = Squares;
    static constexpr bool is_compact = false, takes_products = true;
    static constexpr double least = 0x1p-94; // 71·2^−100
    static double unit() { return std::numbers::sqrt3 * std::numbers::log2e; }
    static double exponent(double sum) {
        const double distance = std::sqrt(sum);
        return distance - std::log2(1 + std::numbers::ln2 * distance);
    }
    template <class Arithmetic, class Number = typename Arithmetic::Number>
    BTML_INLINE static Number value(Number sum) {
        const Number distance = Arithmetic::root(sum), a = Arithmetic::number(std::numbers::ln2) * distance;
        const Number polynomial = Arithmetic::number(1) + a;
        return Arithmetic::smaller(polynomial * Arithmetic::power_of_half(distance), Arithmetic::number(1));
    }
    static double log_integral(double d) {
        return log_integral_of_exponential(d) - d / 2 * std::log(3.0) + std::log(1 + d);
    }
};

} // namespace btml::pairwise
