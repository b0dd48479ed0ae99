// exp and log, on one number or on several side by side, with the same result on every processor.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace btml {

inline constexpr size_t lanes = 8;
using Lanes [[gnu::vector_size(lanes * sizeof(double))]] = double;
using LaneBits [[gnu::vector_size(lanes * sizeof(uint64_t))]] = uint64_t;

// exp() underflows here: below it the result is 0. Past its negation it overflows, and must not be asked for.
inline constexpr double min_exponent = -708;

// 2^k · p(r) with x = k·ln 2 + r, |r| ≤ ln 2 / 2, and p the Taylor polynomial of degree 13, whose last term is replaced
// by what the Chebyshev polynomial of its degree leaves of it: relative error 1e-17 beside rounding. T is double with
// uint64_t, or Lanes with LaneBits.
template <class T, class Bits>
[[gnu::always_inline]] inline void exponential(T& x) {
    constexpr double square = 0.34657359027997264 * 0.34657359027997264, last = 1.0 / 6227020800;
    constexpr double part_3 = square * square * square * square * square * last * 364 / 4096,
                     part_5 = square * square * square * square * last * -2912 / 4096,
                     part_7 = square * square * square * last * 9984 / 4096,
                     part_9 = square * square * last * -16640 / 4096, part_11 = square * last * 13312 / 4096;
    const T shifter = T{} + 0x1.8p52;
    const T shifted = x * 1.4426950408889634 + shifter;
    const T k = shifted - shifter;
    const T r = (x - k * 0x1.62e42fefa0000p-1) - k * 0x1.cf79abc9e3b3ap-40;
    T p = r * (1.0 / 479001600) + (1.0 / 39916800 + part_11);
    p = p * r + 1.0 / 3628800;
    p = p * r + (1.0 / 362880 + part_9);
    p = p * r + 1.0 / 40320;
    p = p * r + (1.0 / 5040 + part_7);
    p = p * r + 1.0 / 720;
    p = p * r + (1.0 / 120 + part_5);
    p = p * r + 1.0 / 24;
    p = p * r + (1.0 / 6 + part_3);
    p = p * r + 0.5;
    p = 1.0 + (r + r * r * p);
    const Bits power = (__builtin_bit_cast(Bits, shifted) + 1023) << 52;
    x = x > min_exponent ? p * __builtin_bit_cast(T, power) : T{};
}

inline double exponential(double x) {
    exponential<double, uint64_t>(x);
    return x;
}

// log(x) of a normal x: x = 2^k·m with √½ ≤ m < √2, and log m = 2·artanh(s), s = (m − 1)/(m + 1), by its Taylor series
// up to s^21, whose rest is below 3e-18 of it. T and Bits as above.
template <class T, class Bits>
[[gnu::always_inline]] inline void logarithm(T& x) {
    constexpr uint64_t root_of_half = 0x3fe6a09e667f3bcd, mantissa = (uint64_t{1} << 52) - 1;
    const Bits offset = __builtin_bit_cast(Bits, x) - root_of_half;
    // k + 2^52 + 2^51 is made of the bits of k, since not every processor converts 64-bit integers.
    const Bits shifted = (offset >> 52 ^ 0x800) - 0x800;
    const T k = __builtin_bit_cast(T, shifted + __builtin_bit_cast(uint64_t, 0x1.8p52)) - 0x1.8p52;
    const T m = __builtin_bit_cast(T, (offset & mantissa) + root_of_half);
    const T f = m - 1.0, s = f / (m + 1.0), square = s * s;
    T p = square * (2.0 / 21) + 2.0 / 19;
    p = p * square + 2.0 / 17;
    p = p * square + 2.0 / 15;
    p = p * square + 2.0 / 13;
    p = p * square + 2.0 / 11;
    p = p * square + 2.0 / 9;
    p = p * square + 2.0 / 7;
    p = p * square + 2.0 / 5;
    p = p * square + 2.0 / 3;
    // log m = f − s·(f − square·p), whose first term is exact.
    x = k * 0x1.62e42fefa0000p-1 - ((s * (f - square * p) - k * 0x1.cf79abc9e3b3ap-40) - f);
}

inline double logarithm(double x) {
    logarithm<double, uint64_t>(x);
    return x;
}

} // namespace btml
