// exp(−x) for weights of pairs, to 6e-15 of itself: a table of sixteen powers and a short polynomial, in half the steps
// of exponential(). It gives the same result on every processor.
#pragma once

#include "core/numbers/elementary.hpp"

namespace btml::pairwise {

// 2^(i/16), from the bits of which i·2^48 is taken, so that adding (16·k + i)·2^48 makes them those of 2^(k + i/16).
inline constexpr uint64_t sixteenths[] = {
    0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
    0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
    0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
    0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da};

inline uint64_t sixteenth_at(uint64_t place) {
    return sixteenths[place % 16];
}
// For vectors; one instruction where the table fits two registers.
template <class Bits>
[[gnu::always_inline]] inline Bits sixteenth_at(const Bits& places) {
#if defined(__AVX512F__) && !defined(__clang__)
    if constexpr (sizeof(Bits) == sizeof(LaneBits)) {
        LaneBits halves[2];
        __builtin_memcpy(halves, sixteenths, sizeof(halves));
        return __builtin_shuffle(halves[0], halves[1], places);
    }
#endif
    Bits result{};
#pragma GCC unroll 8
    for (size_t lane = 0; lane < sizeof(Bits) / sizeof(uint64_t); lane++) result[lane] = sixteenths[places[lane] % 16];
    return result;
}

// 2^(−x/16) is a number for x up to this; beyond it is taken for 0.
inline constexpr double steps_of_e = 16 * 1.4426950408889634, max_steps = -min_exponent * steps_of_e;

// Turns x ≥ 0 into 2^(−x/16), and what is no number into 0. T is double with uint64_t, or Lanes with LaneBits.
template <class T, class Bits>
[[gnu::always_inline]] inline void decay_by_sixteenths(T& x) {
    const T shifter = T{} + 0x1.8p52;
    const T shifted = shifter - x;
    const T r = (shifter - shifted) - x; // at most ½
    // Minimax with p(0) = 1.
    T p = r * 0x1.5d89ec8d20127p-30 + 0x1.3b2c78c02d3e2p-23;
    p = p * r + 0x1.c6b08d6e23e69p-17;
    p = p * r + 0x1.ebfbdff5ffb64p-11;
    p = p * r + 0x1.62e42fefa3a02p-5;
    p = p * r + 1.0;
    const Bits steps = __builtin_bit_cast(Bits, shifted);
    x = x < max_steps ? p * __builtin_bit_cast(T, sixteenth_at(steps) + (steps << 48)) : T{};
}

} // namespace btml::pairwise
