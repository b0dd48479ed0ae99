// exp(x) for x ≤ 0, on one number or on several side by side, with the same result on every processor.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace btml::pairwise {

inline constexpr size_t lanes = 8;
using Lanes [[gnu::vector_size(lanes * sizeof(double))]] = double;
using LaneBits [[gnu::vector_size(lanes * sizeof(uint64_t))]] = uint64_t;

// exp() underflows here: below it the result is 0.
inline constexpr double min_exponent = -708;

// 2^k · p(r) with x = k·ln 2 + r, |r| ≤ ln 2 / 2, and p the Taylor polynomial of degree 12: relative error 2e-16 beside
// rounding. T is double with uint64_t, or Lanes with LaneBits.
template <class T, class Bits>
[[gnu::always_inline]] inline void exponential(T& x) {
    const T shifter = T{} + 0x1.8p52;
    const T shifted = x * 1.4426950408889634 + shifter;
    const T k = shifted - shifter;
    const T r = (x - k * 0x1.62e42fefa0000p-1) - k * 0x1.cf79abc9e3b3ap-40;
    T p = r * (1.0 / 479001600) + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    const Bits power = (__builtin_bit_cast(Bits, shifted) + 1023) << 52;
    x = x > min_exponent ? p * __builtin_bit_cast(T, power) : T{};
}

inline double exponential(double x) {
    exponential<double, uint64_t>(x);
    return x;
}

} // namespace btml::pairwise
