// Integers of 128 bits, as the mantissas of decimals.
#pragma once

#include <array>

namespace btml {

__extension__ using WideInteger = __int128;

// Multiplies the mantissa by 10^by, by ≥ 0. False: that does not fit, and the mantissa stays as it is.
[[nodiscard]] inline bool scale_up(WideInteger& mantissa, int by) {
    constexpr int max_power = 38;
    static constexpr auto powers = [] {
        std::array<WideInteger, max_power + 1> result{1};
        for (int i = 1; i <= max_power; i++) result[i] = 10 * result[i - 1];
        return result;
    }();
    if (mantissa == 0 || by == 0) return true;
    WideInteger scaled = 0;
    if (by > max_power || __builtin_mul_overflow(mantissa, powers[by], &scaled)) return false;
    mantissa = scaled;
    return true;
}

} // namespace btml
