// Numerics as integers of 128 bits and scales.
#pragma once

#include "pg/bridge/postgres.hpp"

namespace btml::pg {

inline constexpr int max_decimal_scale = 38;

// value = mantissa · 10^(−scale), where the scale is the number of digits that are displayed after the point. False for
// NaN, infinities, and what 128 bits or max_decimal_scale do not hold. Reads the bytes as they are stored, detoasted:
// PostgreSQL has no function for them, and they have been the same since 9.1.
bool decimal_of(Datum numeric, __int128* mantissa, int* scale);

// The numeric of that value and scale. May ereport.
Datum numeric_of(__int128 mantissa, int scale);

} // namespace btml::pg
