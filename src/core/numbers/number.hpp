// SQL numbers in 8 bytes: a double, where NULL is one NaN bit pattern of ours and every other NaN is SQL's NaN.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace btml {

// A number of rows that 64 bits may not hold.
__extension__ using WideCount = unsigned __int128;

inline std::string decimal(WideCount count) {
    std::string digits;
    do digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(count % 10)));
    while ((count /= 10) > 0);
    return digits;
}

inline constexpr uint64_t null_bits = 0x7ff8'0000'6274'6d6cULL; // a quiet NaN whose payload spells "btml"
inline constexpr double null_number = std::bit_cast<double>(null_bits);

inline bool is_null(double x) {
    return std::bit_cast<uint64_t>(x) == null_bits;
}

// Prepares a value read from outside to be stored: every NaN becomes the one that is not NULL.
inline double from_sql(double x) {
    return std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x;
}

// PostgreSQL's order: NaN is equal to itself and greater than every number. Neither argument is NULL.
inline bool sql_less(double a, double b) {
    return std::isnan(b) ? !std::isnan(a) : a < b;
}

} // namespace btml
