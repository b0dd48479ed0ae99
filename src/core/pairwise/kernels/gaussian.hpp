#pragma once

#include "core/pairwise/kernels/families.hpp"

namespace btml::pairwise {

// exp(−‖u‖₂²/2)
struct Gaussian : Decaying<Gaussian> {
    static constexpr const char* name = "gaussian";
    using Metric = Squares;
    static constexpr bool takes_products = true, is_rooted = false;
    static constexpr double rate = 0.5, order = std::numeric_limits<double>::infinity(), least = 0x1p-100;
    template <class Arithmetic, class Number>
    BTML_INLINE static void steepen(Number&, const Number&) {}
    static double log_integral(double d) { return d / 2 * std::log(2 * std::numbers::pi); }
    static double log_square_integral(double d) { return d / 2 * std::log(std::numbers::pi); }
    static double variance(double) { return 1; }
};

} // namespace btml::pairwise
