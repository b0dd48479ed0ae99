// Gives a kernel as scores take it: of the sum s over the coordinates of a difference as it is, with a coefficient c
// that stands for the bandwidth, and relative to an origin, a sum at which the weight is no number that underflows.
#pragma once

#include "core/pairwise/kernels/kernels.hpp"
#include "core/pairwise/quick_exponential.hpp"

namespace btml::pairwise {

inline void take_root(double& x) {
    x = std::sqrt(x);
}
template <class T>
[[gnu::always_inline]] inline void take_root(T& x) {
    for (size_t lane = 0; lane < sizeof(T) / sizeof(double); lane++) x[lane] = std::sqrt(x[lane]);
}

// Calculates sums and what compact kernels are made of, in double or vectors of it, whose bits are Bits.
template <class T, class Bits>
struct VectorArithmetic {
    using Number = T;
    [[gnu::always_inline]] static T number(double x) { return T{} + x; }
    [[gnu::always_inline]] static T multiply_add(const T& a, const T& b, const T& c) { return a * b + c; }
    [[gnu::always_inline]] static T magnitude(const T& x) {
        return __builtin_bit_cast(T, __builtin_bit_cast(Bits, x) & ~(uint64_t{1} << 63));
    }
    [[gnu::always_inline]] static T larger(const T& a, const T& b) { return a > b ? a : b; }
    [[gnu::always_inline]] static T smaller(const T& a, const T& b) { return a < b ? a : b; }
};

// Turns sums into k·e^a, a being the decay at the origin. A compact kernel is relative to its value at the origin or,
// where that is 0, 1 at points no farther away. T is double with uint64_t, or Lanes with LaneBits.
template <class Shape, class T, class Bits>
[[gnu::always_inline]] inline void weigh(T& sum, double coefficient, double origin) {
    if constexpr (Shape::is_compact) {
        const double at_origin = Shape::template value<DoubleArithmetic>(origin * coefficient);
        if (at_origin > 0)
            sum = Shape::template value<VectorArithmetic<T, Bits>>(sum * coefficient) / at_origin;
        else
            sum = sum <= origin ? T{} + 1 : T{};
    } else if constexpr (Shape::is_rooted) {
        T a = sum * coefficient;
        take_root(a);
        const double nearest = decay<Shape>(origin, coefficient);
        sum = (a - nearest) * steps_of_e;
        decay_by_sixteenths<T, Bits>(sum);
        T weight = sum;
        // Farther away, all that is not 0 has one value of the polynomial, whose square may be too large for a number.
        if (nearest < 1e20) Shape::template multiply<DoubleArithmetic>(weight, a);
        sum = sum > 0 ? weight : T{}; // not 0 times infinity, where coordinates are infinite
    } else {
        sum = (sum - origin) * (coefficient * steps_of_e);
        decay_by_sixteenths<T, Bits>(sum);
    }
}

// Weighs one difference.
template <class Shape>
struct KernelWeight {
    using Metric = typename Shape::Metric;

    explicit KernelWeight(double bandwidth) : coefficient(pairwise::coefficient<Shape>(bandwidth)) {}

    // A sum less than the origin counts as that.
    double operator()(double sum, double origin) const {
        double weight = std::max(sum, origin);
        weigh<Shape, double, uint64_t>(weight, coefficient, origin);
        return weight;
    }
    // Says whether exp() underflows at a sum.
    bool underflows(double sum) const { return -decay<Shape>(sum, coefficient) <= min_exponent; }

    double coefficient;
};

} // namespace btml::pairwise
