// The two families of kernels. A kernel derives from one, says what the family asks for, and has the rest from it.
#pragma once

#include "core/pairwise/kernels/metrics.hpp"

namespace btml::pairwise {

// A polynomial times e^−a, and nowhere 0. In bandwidths, a is `rate` times the sum over the coordinates or, where
// `is_rooted`, the square root of that, of a sum of squares. Only there is a polynomial: multiply(x, a) multiplies by
// it. Kernels of Gaussian processes know the derivative: steepen(x, a) makes of x = e^−a what −2 times that by ‖u‖₂²
// is.
template <class Shape>
struct Decaying {
    static constexpr bool is_compact = false;

    static double unit() {
        if constexpr (Shape::is_rooted)
            return std::sqrt(Shape::rate) * std::numbers::log2e;
        else
            return Shape::Metric::distance(Shape::rate * std::numbers::log2e);
    }
    static double exponent(double sum) {
        if constexpr (Shape::is_rooted) {
            const double distance = std::sqrt(sum);
            double polynomial = 1;
            Shape::template multiply<DoubleArithmetic>(polynomial, std::numbers::ln2 * distance);
            return distance - std::log2(polynomial);
        } else {
            return sum;
        }
    }
    template <class Arithmetic, class Number = typename Arithmetic::Number>
    BTML_INLINE static Number value(Number sum) {
        if constexpr (Shape::is_rooted) {
            const Number distance = Arithmetic::root(sum);
            Number value = Arithmetic::power_of_half(distance);
            Shape::template multiply<Arithmetic>(value, Arithmetic::number(std::numbers::ln2) * distance);
            return Arithmetic::smaller(value, Arithmetic::number(1));
        } else {
            return Arithmetic::power_of_half(sum);
        }
    }
    // Returns k of the sum of a difference in bandwidths.
    static double at_square(double sum) { return value<DoubleArithmetic>(Shape::Metric::sum_at(unit()) * sum); }
};

// A function of the sum in bandwidths, value(sum), that is 0 from 1 on, above 0 before, and 0 for what is no number.
template <class Shape>
struct Compact {
    static constexpr bool is_compact = true, takes_products = false; // differences of norms are too coarse at its edge
    static constexpr double rate = 1, order = 0, least = 0;

    static double unit() { return 1; }
    // At the edge both are 1.
    static double exponent(double sum) { return sum < 1 ? 1 - Shape::template value<DoubleArithmetic>(sum) : sum; }
};

} // namespace btml::pairwise
