// An exact sum of doubles: the same for every order of the terms and every way to split them.
#pragma once

#include "core/base/error.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

namespace btml {

class Reader;

// A number mantissa · 2^exponent, which no double need hold.
struct ScaledNumber {
    double mantissa; // 0, or from ½ to 1 in magnitude; infinities and NaN stand for themselves
    int exponent;

    ScaledNumber(double mantissa_of, int exponent_of) {
        int exponent_of_mantissa = 0;
        mantissa = std::frexp(mantissa_of, &exponent_of_mantissa);
        exponent = exponent_of + exponent_of_mantissa;
    }
    explicit ScaledNumber(double x) : ScaledNumber(x, 0) {}
    friend ScaledNumber operator*(const ScaledNumber& a, const ScaledNumber& b) {
        return {a.mantissa * b.mantissa, a.exponent + b.exponent};
    }
    friend ScaledNumber operator/(const ScaledNumber& a, const ScaledNumber& b) {
        return {a.mantissa / b.mantissa, a.exponent - b.exponent};
    }
    // Returns the nearest double, infinite beyond the largest.
    double nearest() const { return std::ldexp(mantissa, exponent); }
};

// A fixed-point number (Kulisch's accumulator) whose lowest digit has the weight 2^lowest_bit. Its digits are signed
// and have 64 bits: a carry rarely reaches a second digit, also when the sum changes its sign, and each value has one
// form. All bytes zero are the sum of no terms.
template <int lowest_bit, int digits>
class FixedPointSum {
  public:
    // Infinities and NaN add up as in IEEE 754. Error out_of_range beyond 2^64 terms.
    void add(double x) {
        const auto bits = std::bit_cast<uint64_t>(x);
        const auto exponent = static_cast<uint32_t>(bits >> mantissa_bits) & max_exponent;
        if (exponent == max_exponent) [[unlikely]]
            return add_special(bits);
        const uint32_t normal = exponent != 0;
        const auto magnitude = static_cast<int64_t>((bits & mantissa_mask) | uint64_t{normal} << mantissa_bits);
        const int64_t sign = static_cast<int64_t>(bits) >> 63; // -1 or 0
        add_at(exponent - normal + bits_below_doubles, (magnitude ^ sign) - sign);
    }
    // Leaves out bits below the lowest digit.
    void add(const ScaledNumber& x);
    // Errors: as add().
    void add(const FixedPointSum& other);

    // The nearest double, of two equally near ones the even one; 0 for no terms. Error out_of_range beyond the largest.
    double value() const;
    // The same as IEEE 754 has it: infinite beyond the largest.
    double nearest() const noexcept;
    // The nearest number of 53 bits, however large or small.
    ScaledNumber scaled() const noexcept;
    // Subtracts scaled() from itself and returns it, until nothing is left: numbers that add up to the sum, the largest
    // first. Error out_of_range for a sum that is not finite.
    ScaledNumber take_part();

    bool operator==(const FixedPointSum& other) const = default;

    // Portable bytes: few for sums of numbers of one magnitude.
    size_t flat_size() const noexcept;
    std::byte* flatten(std::byte* to) const noexcept; // writes flat_size() bytes and returns their end
    // Error corrupt_model for bytes that flatten() does not write.
    static FixedPointSum parse(Reader& reader);

  private:
    __extension__ using Wide = __int128;
    static constexpr int mantissa_bits = 52;
    static constexpr uint32_t max_exponent = 2047;
    static constexpr uint64_t mantissa_mask = (uint64_t{1} << mantissa_bits) - 1;
    static constexpr int digit_bits = 64;
    static constexpr int bits_below_doubles = -1074 - lowest_bit; // 2^-1074 is the least double
    static_assert(bits_below_doubles >= 0);
    enum Special : uint64_t { plus_infinity = 1, minus_infinity = 2, nan = 4, every_special = 7 };

    // Adds addend · 2^(place + lowest_bit), |addend| ≤ 2^53.
    void add_at(uint32_t place, int64_t addend) {
        const uint32_t i = place / digit_bits;
        const Wide wide = static_cast<Wide>(addend) << place % digit_bits;
        const auto low = static_cast<int64_t>(wide);
        const auto high = static_cast<int64_t>((wide - low) >> digit_bits);
        const bool overflows = __builtin_add_overflow(digits_[i], low, &digits_[i]);
        const int64_t carry = -static_cast<int64_t>(overflows) & (low >> 63 | 1);
        if (__builtin_add_overflow(digits_[i + 1], high + carry, &digits_[i + 1])) [[unlikely]]
            carry_on(i + 2, high + carry < 0 ? -1 : 1);
    }
    void carry_on(int digit, int64_t carry);
    void add_special(uint64_t bits);
    int top() const noexcept; // the highest digit that is not 0, or -1
    double special() const noexcept;
    // The nearest number that is a multiple of 2^(least_place + lowest_bit).
    ScaledNumber rounded(int least_place) const noexcept;

    std::array<int64_t, digits> digits_{}; // value = Σ digits_[i] · 2^(64 i + lowest_bit)
    uint64_t specials_ = 0;                // which infinities and NaN there were
};

// Holds every finite double and 2^64 of the largest.
using ExactSum = FixedPointSum<-1074, 34>;
// Holds every product of three doubles and 2^64 of the largest.
using WideSum = FixedPointSum<-3222, 100>;
extern template class FixedPointSum<-1074, 34>;
extern template class FixedPointSum<-3222, 100>;

} // namespace btml
