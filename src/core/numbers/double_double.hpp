// Numbers of some 106 bits: the unevaluated sum of two doubles.
#pragma once

#include <bit>
#include <cstdint>

namespace btml {

// Arithmetic is Dekker's and Knuth's (Dekker: A Floating-Point Technique for Extending the Available Precision, 1971).
// The range is that of doubles: what is beyond becomes NaN. Underflow adds up to 2e-323 to the error of a product, so
// that one below 1e-291 in magnitude has fewer bits.
struct DoubleDouble {
    double high = 0, low = 0; // |low| is at most half the distance of high from its neighbours

    constexpr DoubleDouble() = default;
    constexpr DoubleDouble(double x) : high(x) {}

    // Returns a + b and a · b of doubles, exactly.
    static constexpr DoubleDouble sum(double a, double b) {
        const double sum = a + b, of_b = sum - a;
        return {sum, (a - (sum - of_b)) + (b - of_b)};
    }
    static constexpr DoubleDouble product(double a, double b) {
        const Halves x = halves_of(a), y = halves_of(b);
        const double product = a * b;
        return {product, ((x.upper * y.upper - product) + x.upper * y.lower + x.lower * y.upper) + x.lower * y.lower};
    }

    friend constexpr DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
        const DoubleDouble upper = sum(a.high, b.high), lower = sum(a.low, b.low);
        const DoubleDouble both = quick_sum(upper.high, upper.low + lower.high);
        return quick_sum(both.high, both.low + lower.low);
    }
    friend constexpr DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
        const DoubleDouble upper = product(a.high, b.high);
        return quick_sum(upper.high, upper.low + (a.high * b.low + a.low * b.high));
    }
    constexpr DoubleDouble& operator+=(const DoubleDouble& other) { return *this = *this + other; }
    constexpr double nearest() const { return high + low; }

  private:
    struct Halves {
        double upper, lower; // of 26 bits each
    };

    constexpr DoubleDouble(double high_of, double low_of) : high(high_of), low(low_of) {}
    static constexpr Halves halves_of(double x) {
        constexpr uint64_t lower_bits = (uint64_t{1} << 27) - 1;
        const double upper = std::bit_cast<double>((std::bit_cast<uint64_t>(x) + lower_bits / 2 + 1) & ~lower_bits);
        return {upper, x - upper};
    }
    // |a| ≥ |b|, or a is 0.
    static constexpr DoubleDouble quick_sum(double a, double b) {
        const double sum = a + b;
        return {sum, b - (sum - a)};
    }
};

} // namespace btml
