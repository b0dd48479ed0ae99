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

// Takes a detoasted numeric apart. Returns false for NaN and infinities.
inline bool open_numeric(Datum numeric, StoredNumeric* result) {
    constexpr uint16 form_mask = 0xC000, short_form = 0x8000, special_form = 0xC000, negative_form = 0x4000;
    auto* const varlena = reinterpret_cast<struct varlena*>(DatumGetPointer(numeric));
    result->digits = VARDATA_ANY(varlena);
    const auto header = static_cast<uint16>(result->digit(0));
    if ((header & form_mask) == special_form) return false;
    const bool is_short = (header & form_mask) == short_form;
    if (is_short) {
        result->negative = header & 0x2000;
        result->scale = (header & 0x1F80) >> 7;
        result->weight = (header & 0x40 ? ~0x3F : 0) | (header & 0x3F);
    } else {
        result->negative = (header & form_mask) == negative_form;
        result->scale = header & 0x3FFF;
        result->weight = result->digit(1);
    }
    const int words = is_short ? 1 : 2;
    result->digits += words * sizeof(int16);
    result->count = static_cast<int>(VARSIZE_ANY_EXHDR(varlena) / sizeof(int16)) - words;
    return true;
}

// value = mantissa · 10^(−scale), where the scale is the number of digits that are displayed after the point. False for
// NaN, infinities, and what 128 bits or max_decimal_scale do not hold. The numeric is detoasted.
bool decimal_of(Datum numeric, __int128* mantissa, int* scale);

// The numeric of that value and scale, from 0 to 16,383. May ereport.
Datum numeric_of(__int128 mantissa, int scale);

} // namespace btml::pg
