// SQL values as numbers and labels.
#pragma once

#include "core/numbers/number.hpp"
#include "pg/bridge/guard.hpp"

namespace btml::pg {

// How a value of some SQL type becomes a float8.
// Plain numbers are the first.
enum class NumberKind {
    int2,
    int4,
    int8,
    float4,
    float8,
    numeric,
    boolean,
    date,
    time,
    timestamp,
    timestamptz,
    interval,
    none
};

NumberKind number_kind(Oid type); // of the type or, for a domain, of its base type; none: not numeric-like

// Integers, reals and numerics: dates, booleans and the like become numbers too, but are nobody's coordinates.
bool is_plain_number(NumberKind kind);

// A point in time may be given as another of the types date, timestamp and timestamptz.
bool is_point_in_time(NumberKind kind);
// Returns PostgreSQL's cast from one such type to another, which reads it in the session's time zone; null where none
// is needed.
PGFunction time_cast(NumberKind from, NumberKind to);

// How to make a number of a column whose type is not numeric-like; a hint's beginning, without a full stop.
std::string cast_hint(const std::string& column, Oid type);

// Says whether a float8 holds every value of the kind without rounding: integers of 4 bytes at most, and reals.
bool is_exact(NumberKind kind);
// Returns the text of such a value, as its type's output function has it, in the current memory context. May ereport.
const char* text_of_exact(double x, NumberKind kind);

// The column that numbers are read from.
struct NumberColumn {
    const char* name;     // for errors; lives as long as the column is read
    uint64_t rounded = 0; // counts integers beyond 2^53 in magnitude, of more digits than a double holds
};

// Tells of the integers that were rounded; returns false where there are none.
bool notice_rounded(const NumberColumn& column);

double to_number_slowly(Datum value, NumberKind kind, NumberColumn* column);

inline double number_of_integer(int64 value, NumberColumn* column) {
    const auto number = static_cast<double>(value);
    // 2^63, which the largest integers become, is no integer of 64 bits.
    if (column && std::abs(number) >= 0x1p53 && (number == 0x1p63 || static_cast<int64>(number) != value))
        column->rounded++;
    return number;
}

// Dates and times are seconds since 1970, intervals seconds as in extract(epoch FROM …), booleans 0 and 1.
// NaN comes back as the one NaN that is not btml's NULL. May ereport: a numeric that no double holds is an error that
// names the column; it is infinite where the column is null.
inline double to_number(Datum value, NumberKind kind, NumberColumn* column) {
    switch (kind) {
    case NumberKind::int2:
        return DatumGetInt16(value);
    case NumberKind::int4:
        return DatumGetInt32(value);
    case NumberKind::int8:
        return number_of_integer(DatumGetInt64(value), column);
    case NumberKind::float4:
        return from_sql(static_cast<double>(DatumGetFloat4(value)));
    case NumberKind::float8:
        return from_sql(DatumGetFloat8(value));
    default:
        return to_number_slowly(value, kind, column);
    }
}

// Returns the number of what the cast makes of a point in time. May ereport: a date beyond timestamps is an error that
// names the column.
double number_of_cast(Datum value, PGFunction time_cast, const NumberColumn* column);

// Does the same of what a cast makes of a point in time, unless it is null. May ereport.
inline double to_number(Datum value, NumberKind kind, NumberColumn* column, PGFunction time_cast) {
    return time_cast ? number_of_cast(value, time_cast, column) : to_number(value, kind, column);
}

// Does the same outside of a pg_call, which it makes where it must.
inline double guarded_number(Datum value, NumberKind kind, NumberColumn& column, PGFunction time_cast = nullptr) {
    if (!time_cast && kind != NumberKind::numeric) return to_number(value, kind, &column);
    return pg_call([=, &column] { return to_number(value, kind, &column, time_cast); });
}

// The bytes of a text, bytea, name or uuid. May ereport; they last as long as the value or the current memory context.
std::string_view bytes_of(Datum value, Oid type);
// Gives back the value with these bytes, in the current memory context. May ereport.
Datum bytes_datum(std::string_view bytes, Oid type);

// Types whose values are labels by themselves; network: addresses, by their cast to text; output: any other type, by
// its output function.
enum class LabelKind { text, bpchar, name, boolean, enumeration, network, output };

struct LabelRule {
    LabelKind kind = LabelKind::text;
    FmgrInfo* output_function = nullptr; // LabelKind::output
    bool in_any_session = false;         // whatever the settings are
    Oid type = InvalidOid;               // base type
};

LabelKind label_kind(Oid type); // of the type or, for a domain, of its base type
// The text that the session writes; the rule lives as long as the context.
LabelRule label_rule(Oid type, MemoryContext context);
// The category: one text for equal values of a type without a category_fault(), the same in every session.
LabelRule category_rule(Oid type, MemoryContext context);
bool is_categorical(Oid type); // text-like, enum or boolean: categorical without being asked

// What a type's text lacks to be a category.
enum class CategoryFault {
    none,
    of_equals,  // equal values may be written differently
    of_session, // settings that no dump fixes have a say in it
};
CategoryFault category_fault(Oid type, Oid collation);

// The label of a value: its text without a bpchar's padding, "true" or "false", an enum's label. May ereport; lasts as
// bytes_of does.
std::string_view label_of(Datum value, const LabelRule& rule);

} // namespace btml::pg
