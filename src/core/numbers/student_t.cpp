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

} // namespace btml
