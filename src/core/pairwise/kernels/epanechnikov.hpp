#pragma once

#include "core/pairwise/kernels/families.hpp"

namespace btml::pairwise {

// max(0, 1 − ‖u‖₂²)
struct Epanechnikov : Compact<Epanechnikov> {
    static constexpr const char* name = "epanechnikov";
    using Metric = Squares;
    template <class Arithmetic, class Number = typename Arithmetic::Number>
    BTML_INLINE static Number value(Number sum) {
        return Arithmetic::larger(Arithmetic::number(1) - sum, Arithmetic::number(0));
    }
    // Returns the logarithm of the volume of the unit ball times 2/(d + 2).
    static double log_integral(double d) {
        return d / 2 * std::log(std::numbers::pi) - std::lgamma(d / 2 + 1) + std::log(2 / (d + 2));
    }
    static double log_square_integral(double d) { return log_integral(d) + std::log(4 / (d + 4)); }
    static double variance(double d) { return 1 / (d + 4); }
};

} // namespace btml::pairwise
