// Numbers as integers in PostgreSQL's order.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace btml::boosting {

inline constexpr uint64_t sign_bit = uint64_t{1} << 63;

// Unsigned order of keys is PostgreSQL's order of numbers; -0 and 0 have one key, and so have all NaN.
inline uint64_t to_key(double x) {
    if (std::isnan(x)) return ~uint64_t{0};
    const auto bits = std::bit_cast<uint64_t>(x == 0 ? 0.0 : x);
    return bits & sign_bit ? ~bits : bits | sign_bit;
}

inline double from_key(uint64_t key) {
    if (key == ~uint64_t{0}) return std::numeric_limits<double>::quiet_NaN();
    return std::bit_cast<double>(key & sign_bit ? key & ~sign_bit : ~key);
}

} // namespace btml::boosting
