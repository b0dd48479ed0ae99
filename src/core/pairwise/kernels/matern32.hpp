#pragma once

#include "core/pairwise/kernels/families.hpp"

namespace btml::pairwise {

// (1 + a)·e^−a with a = √3·‖u‖₂ (Matérn: Spatial Variation, 1960; ν = 3/2).
struct Matern32 : Decaying<Matern32> {
    static constexpr const char* name = "matern32";
    using Metric = Squares;
    static constexpr bool takes_products = true, is_rooted = true;
    static constexpr double rate = 3, order = 1.5, least = 0x1p-94; // 71·2^−100
    template <class Arithmetic, class Number>
    BTML_INLINE static void multiply(Number& by_polynomial, const Number& a) {
        by_polynomial = (Arithmetic::number(1) + a) * by_polynomial;
    }
    template <class Arithmetic, class Number>
    BTML_INLINE static void steepen(Number& exponential, const Number&) {
        exponential = Arithmetic::number(3) * exponential;
    }
    static double log_integral(double d) {
        return log_integral_of_exponential(d) - d / 2 * std::log(3.0) + std::log(1 + d);
    }
    static double log_square_integral(double d) {
        return log_integral_of_exponential(d) - d / 2 * std::log(12.0) + std::log(1 + d + d * (d + 1) / 4);
    }
    static double variance(double d) { return (d + 3) / 3; }
};

} // namespace btml::pairwise
