#pragma once

#include "core/pairwise/kernels/metrics.hpp"

namespace btml::pairwise {

// exp(−‖u‖₁)
struct Laplacian {
    static constexpr const char* name = "laplacian";
    using Metric = Absolutes;
    static constexpr bool is_compact = false, takes_products = false;
    static constexpr double least = 0x1p-100;
    static double unit() { return std::numbers::log2e; }
    static double exponent(double sum) { return sum; }
    template <class Arithmetic, class Number = typename Arithmetic::Number>
    BTML_INLINE static Number value(Number sum) {
        return Arithmetic::power_of_half(sum);
    }
    static double log_integral(double d) { return d * std::numbers::ln2; }
};

} // namespace btml::pairwise
