#include "pg/values/decimal.hpp"

#include "core/numbers/wide_integer.hpp"

extern "C" {
#include "utils/numeric.h"
}

namespace btml::pg {

bool decimal_of(Datum numeric, __int128* mantissa, int* scale) {
    StoredNumeric number;
    if (!open_numeric(numeric, &number) || number.scale > max_decimal_scale) return false;
    *scale = number.scale;
    *mantissa = 0;
    if (number.count == 0) return true;
    // The last digit counts 10,000^(weight − count + 1); its zeros beyond the scale are no part of the mantissa.
    const int last_exponent = 4 * (number.weight - number.count + 1) + number.scale;
    if (last_exponent < -3 || last_exponent > max_decimal_scale) return false;
    for (int i = 0; i < number.count; i++) {
        const bool is_last = i == number.count - 1;
        int digit = number.digit(i);
        int places = 4;
        if (is_last && last_exponent < 0) {
            for (int e = last_exponent; e < 0; e++, places--) digit /= 10;
        }
        if (!scale_up(*mantissa, places)) return false;
        if (__builtin_add_overflow(*mantissa, static_cast<__int128>(digit), mantissa)) return false;
    }
    if (last_exponent > 0 && !scale_up(*mantissa, last_exponent)) return false;
    if (number.negative) *mantissa = -*mantissa;
    return true;
}

Datum numeric_of(__int128 mantissa, int scale) {
    if (scale == 0 && mantissa >= PG_INT64_MIN && mantissa <= PG_INT64_MAX)
        return DirectFunctionCall1(int8_numeric, Int64GetDatum(static_cast<int64>(mantissa)));
    constexpr int max_length = 48; // of a sign, the 39 digits of 128 bits, a point and the end
    auto* const text = static_cast<char*>(palloc(static_cast<size_t>(max_length) + static_cast<size_t>(scale)));
    int at = max_length + scale - 1, written = 0;
    text[at] = '\0';
    const bool negative = mantissa < 0;
    auto rest = negative ? -static_cast<unsigned __int128>(mantissa) : static_cast<unsigned __int128>(mantissa);
    while (rest > 0 || written <= scale) {
        if (written == scale && scale > 0) text[--at] = '.';
        text[--at] = static_cast<char>('0' + static_cast<int>(rest % 10));
        rest /= 10;
        written++;
    }
    if (negative) text[--at] = '-';
    const Datum result =
        DirectFunctionCall3(numeric_in, CStringGetDatum(text + at), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
    pfree(text);
    return result;
}

} // namespace btml::pg
