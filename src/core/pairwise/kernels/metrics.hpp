// Defines what kernels are functions of: sums over the coordinates of a difference. Both are templates over an
// arithmetic, which has a type Number and the functions that are called here, so that one text serves a number of
// double, a vector of float32 on a processor and float32 on a CUDA device.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#ifdef __CUDACC__
#define BTML_INLINE __host__ __device__
#else
#define BTML_INLINE [[gnu::always_inline]]
#endif

namespace btml::pairwise {

// Calculates in double.
struct DoubleArithmetic {
    using Number = double;
    BTML_INLINE static double number(double x) { return x; }
    static double multiply_add(double a, double b, double c) { return a * b + c; }
    static double magnitude(double x) { return std::abs(x); }
    static double larger(double a, double b) { return std::max(a, b); }
    static double smaller(double a, double b) { return std::min(a, b); }
    static double root(double x) { return std::sqrt(x); }
    static double power_of_half(double x) { return std::exp2(-x); }
};

// ‖u‖₂²
struct Squares {
    template <class Arithmetic, class Number = typename Arithmetic::Number>
    BTML_INLINE static Number add(Number sum, Number difference) {
        return Arithmetic::multiply_add(difference, difference, sum);
    }
    // The distance, for which the triangle inequality holds, of points with this sum, and the sum at a distance.
    static double distance(double sum) { return std::sqrt(sum); }
    static double sum_at(double distance) { return distance * distance; }
    // A coordinate of a point so far out that the nearest keys, and by how much they are nearer than others, are those
    // of the point that it returns the coordinate of; none is then beyond `farthest`. largest: of all coordinates.
    static double approach(double coordinate, double largest, double farthest) {
        return coordinate * (farthest / largest); // in the same direction
    }
};

// ‖u‖₁
struct Absolutes {
    template <class Arithmetic, class Number = typename Arithmetic::Number>
    BTML_INLINE static Number add(Number sum, Number difference) {
        return sum + Arithmetic::magnitude(difference);
    }
    static double distance(double sum) { return sum; }
    static double sum_at(double distance) { return distance; }
    static double approach(double coordinate, double, double farthest) {
        return std::clamp(coordinate, -farthest, farthest); // beyond the keys it adds the same to all distances
    }
};

// Returns the sum for the difference of two points.
template <class Metric>
double sum_of(const double* a, const double* b, size_t dimensions) {
    double sum = 0;
    for (size_t k = 0; k < dimensions; k++) sum = Metric::template add<DoubleArithmetic>(sum, a[k] - b[k]);
    return sum;
}

// Returns ln ∫exp(−‖u‖₂) du in d dimensions: the unit sphere's area times Γ(d).
inline double log_integral_of_exponential(double d) {
    return std::numbers::ln2 + d / 2 * std::log(std::numbers::pi) - std::lgamma(d / 2) + std::lgamma(d);
}

} // namespace btml::pairwise
