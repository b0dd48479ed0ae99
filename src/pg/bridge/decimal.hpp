// Numerics as integers of 128 bits and scales.
#pragma once

#include "pg/bridge/postgres.hpp"

namespace btml::pg {

inline constexpr int max_decimal_scale = 38;

// A numeric as it is stored: digits to the base 10,000, the first of them of this weight, in native order but at any
// address. PostgreSQL has no function for it, and it has been the same since 9.1.
struct StoredNumeric {
    bool negative;
    int weight, scale, count;
    const char* digits;

    int digit(int i) const {
        int16 value;
        memcpy(&value, digits + sizeof(value) * static_cast<size_t>(i), sizeof(value));
        return value;
    }
};

// Of a detoasted numeric. False for NaN and infinities.
bool open_numeric(Datum numeric, StoredNumeric* result);

// value = mantissa · 10^(−scale), where the scale is the number of digits that are displayed after the point. False for
// NaN, infinities, and what 128 bits or max_decimal_scale do not hold. The numeric is detoasted.
bool decimal_of(Datum numeric, __int128* mantissa, int* scale);

// The numeric of that value and scale. May ereport.
Datum numeric_of(__int128 mantissa, int scale);

} // namespace btml::pg
