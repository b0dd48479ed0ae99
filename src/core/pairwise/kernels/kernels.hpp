// The kernels, k(u) for a difference u of points in units of the bandwidth: each is a class in a file of its own, and a
// line here and in the list.
#pragma once

#include "core/base/options_table.hpp"
#include "core/pairwise/kernels/epanechnikov.hpp"
#include "core/pairwise/kernels/gaussian.hpp"
#include "core/pairwise/kernels/laplacian.hpp"
#include "core/pairwise/kernels/matern32.hpp"
#include "core/pairwise/kernels/matern52.hpp"

#include <array>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace btml::pairwise {

// Says whether what is multiplied by an exponential function is more than 1.
template <class Shape>
concept HasPolynomial = requires(double x) {
    Shape::template multiply<DoubleArithmetic>(x, x);
};

// A kernel is what Decaying makes of its parts: functions of its own would not be those that scores use. Where its
// order is not 0, its convolution with itself is taken for that of a Matérn or the Gaussian kernel.
template <class Shape>
concept IsDecaying = requires {
    requires std::derived_from<Shape, Decaying<Shape>> && !Shape::is_compact;
    requires(&Shape::unit == &Decaying<Shape>::unit && &Shape::exponent == &Decaying<Shape>::exponent);
    requires(&Shape::template value<DoubleArithmetic> == &Decaying<Shape>::template value<DoubleArithmetic>);
    requires Shape::is_rooted == HasPolynomial<Shape>;
    requires std::same_as<typename Shape::Metric, Squares> || !(Shape::is_rooted || Shape::order > 0);
    requires Shape::order == 0 || Shape::rate == (Shape::is_rooted ? 2 * Shape::order : 0.5);
    requires Shape::order == 0 || Shape::is_rooted == (Shape::order < std::numeric_limits<double>::infinity());
};

// A kernel is what Compact makes of its value.
template <class Shape>
concept IsCompact = requires {
    requires std::derived_from<Shape, Compact<Shape>> && Shape::is_compact && Shape::rate == 1 && Shape::order == 0;
    requires(&Shape::unit == &Compact<Shape>::unit && &Shape::exponent == &Compact<Shape>::exponent);
};

// A kernel is a function of a sum over the coordinates, from 1 at 0 down to 0, which is to be taken of coordinates in
// bandwidths times unit(). What scores, convolutions and tiles use beyond this is its family's, so that it is of one.
template <class Shape>
concept KernelShape = requires(double x) {
    { Shape::name } -> std::convertible_to<const char*>; // of the option
    requires std::same_as<typename Shape::Metric, Squares> || std::same_as<typename Shape::Metric, Absolutes>;
    requires std::same_as<decltype(Shape::is_compact), const bool>; // 0 from some sum on
    // Says whether a sum of squares may be ‖q‖² + ‖k‖² − 2q·k, half the work, which is off by about 2^−24 of the norms.
    requires std::same_as<decltype(Shape::takes_products), const bool>;
    requires !Shape::takes_products || std::same_as<typename Shape::Metric, Squares>;
    // What is less may be 0 in tiles, whose power_of_half() is 0 from 100.5 on. Compact: nothing.
    requires std::same_as<decltype(Shape::least), const double>;
    { Shape::unit() } -> std::same_as<double>;
    // Grows with the sum: it is −log₂ of the kernel or, where that is compact, 1 − its value and more beyond its edge.
    { Shape::exponent(x) } -> std::same_as<double>;
    { Shape::template value<DoubleArithmetic>(x) } -> std::same_as<double>; // of a sum
    // These are in x dimensions: ln ∫k(u) du, ln ∫k(u)² du, and the variance of a coordinate under a density that is in
    // proportion to k.
    { Shape::log_integral(x) } -> std::same_as<double>;
    { Shape::log_square_integral(x) } -> std::same_as<double>;
    { Shape::variance(x) } -> std::same_as<double>;
    // k is a function of rate·‖u‖, ‖·‖ being the metric's sum.
    requires std::same_as<decltype(Shape::rate), const double>;
    // The order of a Matérn kernel, infinite for the Gaussian one, 0 for others: the convolution with itself is known.
    requires std::same_as<decltype(Shape::order), const double>;
    requires IsDecaying<Shape> || IsCompact<Shape>;
};

template <class... Shapes>
struct KernelList {
    static_assert((KernelShape<Shapes> && ...), "a kernel is what its family says: a polynomial times an exponential "
                                                "function (Decaying), or 0 from a distance on (Compact)");
    static constexpr size_t size = sizeof...(Shapes);
    template <class Shape>
    static constexpr size_t place() {
        constexpr bool is_it[] = {std::is_same_v<Shape, Shapes>...};
        size_t i = 0;
        while (!is_it[i]) i++;
        return i;
    }
    // Returns an array of body(std::type_identity<Shape>()) for each.
    template <class Body>
    static constexpr auto map(const Body& body) {
        return std::array{body(std::type_identity<Shapes>())...};
    }
    // Returns body(std::type_identity<Shape>()) for the one at a place.
    template <class Body>
    static auto visit(size_t place, const Body& body) {
        using Result = std::common_type_t<decltype(body(std::type_identity<Shapes>()))...>;
        constexpr std::array calls{+[](const Body& of) -> Result { return of(std::type_identity<Shapes>()); }...};
        return calls[place](body);
    }
};

// clang-format off
using Kernels = KernelList<
    Gaussian, // the default
    Laplacian,
    Epanechnikov,
    Matern32,
    Matern52>;
// clang-format on

enum class Kernel : uint8_t {}; // is a place in the list

template <class Shape>
inline constexpr Kernel kernel_of{Kernels::place<Shape>()};

// The Gaussian processes' word for the same kernel.
inline constexpr OtherNames kernel_synonyms[] = {{Gaussian::name, {"squared_exponential"}}};

inline constexpr auto kernel_names = Kernels::map([]<class Shape>(std::type_identity<Shape>) { return Shape::name; });

// Calls body(std::type_identity<Shape>()) with the kernel's class.
template <class Body>
auto with_shape(Kernel kernel, const Body& body) {
    return Kernels::visit(static_cast<size_t>(kernel), body);
}

// Returns c of a bandwidth, with which the kernel is a function of c·s, s the sum over the coordinates of a difference
// as it is.
template <class Shape>
double coefficient(double bandwidth) {
    return Shape::rate / Shape::Metric::sum_at(bandwidth);
}

// Returns a, of which e^−a is what falls of the kernel; 0 or infinity for a compact one.
template <class Shape>
double decay(double sum, double coefficient) {
    if constexpr (Shape::is_compact)
        return sum * coefficient < 1 ? 0 : std::numeric_limits<double>::infinity();
    else if constexpr (Shape::is_rooted)
        return std::sqrt(sum * coefficient);
    else
        return sum * coefficient;
}

// Says what is known of a kernel at run time, for all but inner loops.
struct KernelFacts {
    Kernel id;
    const char* name;
    bool is_compact, takes_products;
    double least, order;
    double (*unit)();
    double (*sum)(const double* a, const double* b, size_t dimensions);
    double (*distance)(double sum); // these three: see Squares
    double (*sum_at)(double distance);
    double (*approach)(double coordinate, double largest, double farthest);
    double (*exponent)(double sum);
    double (*value)(double sum);
    double (*log_integral)(double dimensions); // these three: see KernelShape
    double (*log_square_integral)(double dimensions);
    double (*variance)(double dimensions);
    double (*coefficient)(double bandwidth);
    double (*decay)(double sum, double coefficient);

    // Returns ln ∫k(u/bandwidth) du.
    double log_volume(double bandwidth, double dimensions) const {
        return log_integral(dimensions) + dimensions * std::log(bandwidth);
    }
};

const KernelFacts& facts_of(Kernel kernel) noexcept;

} // namespace btml::pairwise
