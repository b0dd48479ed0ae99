#include "core/numbers/student_t.hpp"

#include "core/numbers/elementary.hpp"

#include <cmath>
#include <numbers>

namespace btml {

// Numbers that are next to 0 or overflowed come from odd calls only.
static double ln(double x) {
    return std::isnormal(x) ? logarithm(x) : std::log(x);
}

// Returns ln Γ(x + ½) − ln Γ(x): by Γ(x + 1) = x·Γ(x) where x is small, by the asymptotic series where it is large.
static double log_gamma_step(double x) {
    static constexpr double large = 16;
    double product = 1;
    for (; x < large; x++) product *= x / (x + 0.5);
    const double square = x * x;
    const double series = (1 - (1 - (3 - 255 / (112 * square)) / (10 * square)) / (24 * square)) / (8 * x);
    return ln(x) / 2 - series + ln(product);
}

double student_t_nll(double z, double df) {
    const double root = std::sqrt(df), ratio = std::fabs(z) / root;
    // ln(1 + z²/df): that of a small ratio loses no digits, and the square of a large one may overflow.
    static constexpr double small = 1e-3, large = 1e100;
    const double square = ratio * ratio;
    const double log_term = ratio < small   ? square * (1 - square * (0.5 - square / 3))
                            : ratio < large ? ln(1 + square)
                                            : 2 * ln(ratio);
    return ln(root) + ln(std::numbers::pi) / 2 - log_gamma_step(df / 2) + (df + 1) / 2 * log_term;
}

// Returns what the incomplete beta function of a, b and x is of xᵃ(1 − x)ᵇ/(a·B(a, b)), by its continued fraction as
// Lentz evaluates it. It converges fast below the mean of the beta distribution.
static double beta_fraction(double a, double b, double x) {
    static constexpr double rounding = 2e-16;
    static constexpr int most = 100'000; // it takes about the root of the larger of a and b
    double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), product = d;
    for (int i = 1; i < most; i++) {
        const double m = i, even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / (1 + even * d);
        c = 1 + even / c;
        product *= c * d;
        d = 1 / (1 + odd * d);
        c = 1 + odd / c;
        product *= c * d;
        if (std::fabs(c * d - 1) <= rounding) break;
    }
    return product;
}

// Returns the tail as the normal one and what the first two powers of 1/df add to it, for many degrees of freedom: the
// continued fraction loses digits to cancellation there.
static double tail_of_many(double z, double df) {
    const double square = z * z, density = std::exp(-square / 2) / std::sqrt(2 * std::numbers::pi);
    const double first = z * (square + 1) / (4 * df),
                 second = z * (((3 * square - 7) * square - 5) * square - 3) / (96 * df * df);
    return std::erfc(z / std::numbers::sqrt2) + 2 * density * (first + second);
}

double student_t_tail(double z, double df) {
    static constexpr double many = 1e6;
    const double size = std::fabs(z);
    if (std::isinf(df)) return std::erfc(size / std::numbers::sqrt2);
    if (std::isinf(size)) return 0;
    if (df >= many && size < 40) return tail_of_many(size, df);
    const double square = size * size, x = df / (df + square), rest = square / (df + square);
    const double factor = std::exp(-student_t_nll(size, df)) * size; // x^(df/2)·(1 − x)^½/B(df/2, ½)
    if (x < (df / 2 + 1) / (df / 2 + 2.5)) return factor * beta_fraction(df / 2, 0.5, x) / (df / 2);
    return 1 - factor * beta_fraction(0.5, df / 2, rest) / 0.5;
}

// Halves an interval in which the tail passes the probability.
double student_t_quantile(double tail, double df) {
    double least = 0, most = 1;
    while (student_t_tail(most, df) > tail && most < 1e300) most *= 2;
    for (;;) {
        const double middle = least + (most - least) / 2;
        if (!(middle > least && middle < most)) return most;
        (student_t_tail(middle, df) > tail ? least : most) = middle;
    }
}

} // namespace btml
