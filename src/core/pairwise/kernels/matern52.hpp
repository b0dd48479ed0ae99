#pragma once

#include "core/pairwise/kernels/families.hpp"

namespace btml::pairwise {

// (1 + a + a²/3)·e^−a with a = √5·‖u‖₂ (Matérn: Spatial Variation, 1960; ν = 5/2).
struct Matern52 : Decaying<Matern52> {
    static constexpr const char* name = "matern52";
    using Metric = Squares;
    static constexpr bool takes_products = true, is_rooted = true;
    static constexpr double rate = 5, order = 2.5, least = 0x1p-89; // 1,700·2^−100
    template <class Arithmetic, class Number>
    BTML_INLINE static void multiply(Number& by_polynomial, const Number& a) {
        by_polynomial =
            (Arithmetic::number(1) + a * (Arithmetic::number(1) + a * Arithmetic::number(1.0 / 3))) * by_polynomial;
    }
    template <class Arithmetic, class Number>
    BTML_INLINE static void steepen(Number& exponential, const Number& a) {
        exponential = Arithmetic::number(5.0 / 3) * (Arithmetic::number(1) + a) * exponential;
    }
    static double log_integral(double d) {
        return log_integral_of_exponential(d) - d / 2 * std::log(5.0) + std::log((d + 1) * (d + 3) / 3);
    }
    static double log_square_integral(double d) {
        const double polynomial =
            1 + d * (1 + (d + 1) * (5.0 / 12 + (d + 2) * (1.0 / 12 + (d + 3) / 144))); // of its square
        return log_integral_of_exponential(d) - d / 2 * std::log(20.0) + std::log(polynomial);
    }
    static double variance(double d) { return (d + 5) / 5; }
};

} // namespace btml::pairwise
