#include "pg/values/values.hpp"

#include "core/numbers/number.hpp"
#include "pg/bridge/guard.hpp"
#include "pg/values/decimal.hpp"

extern "C" {
#include "access/nbtree.h"
#include "common/int.h"
#include "parser/parse_coerce.h"
#include "pgtime.h"
#include "utils/bytea.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"
}

namespace btml::pg {

NumberKind number_kind(Oid type) {
    static constexpr std::pair<Oid, NumberKind> kinds[] = {
        {INT2OID, NumberKind::int2},
        {INT4OID, NumberKind::int4},
        {INT8OID, NumberKind::int8},
        {FLOAT4OID, NumberKind::float4},
        {FLOAT8OID, NumberKind::float8},
        {NUMERICOID, NumberKind::numeric},
        {BOOLOID, NumberKind::boolean},
        {DATEOID, NumberKind::date},
        {TIMEOID, NumberKind::time},
        {TIMESTAMPOID, NumberKind::timestamp},
        {TIMESTAMPTZOID, NumberKind::timestamptz},
        {INTERVALOID, NumberKind::interval},
    };
    const Oid base = getBaseType(type);
    for (const auto& [known, kind] : kinds)
        if (base == known) return kind;
    return NumberKind::none;
}

bool is_point_in_time(NumberKind kind) {
    return kind == NumberKind::date || kind == NumberKind::timestamp || kind == NumberKind::timestamptz;
}

PGFunction time_cast(NumberKind from, NumberKind to) {
    static constexpr std::tuple<NumberKind, NumberKind, PGFunction> casts[] = {
        {NumberKind::date, NumberKind::timestamptz, date_timestamptz},
        {NumberKind::timestamp, NumberKind::timestamptz, timestamp_timestamptz},
        {NumberKind::timestamp, NumberKind::date, timestamp_date},
        {NumberKind::timestamptz, NumberKind::timestamp, timestamptz_timestamp},
        {NumberKind::timestamptz, NumberKind::date, timestamptz_date},
    };
    for (const auto& [of, cast_to, cast] : casts)
        if (of == from && cast_to == to) return cast;
    return nullptr;
}

bool is_exact(NumberKind kind) {
    return kind == NumberKind::int2 || kind == NumberKind::int4 || kind == NumberKind::float4 ||
           kind == NumberKind::float8;
}

const char* text_of_exact(double x, NumberKind kind) {
    Datum text;
    if (kind == NumberKind::float8)
        text = DirectFunctionCall1(float8out, Float8GetDatum(x));
    else if (kind == NumberKind::float4)
        text = DirectFunctionCall1(float4out, Float4GetDatum(static_cast<float4>(x)));
    else
        text = DirectFunctionCall1(int4out, Int32GetDatum(static_cast<int32>(x)));
    return DatumGetCString(text);
}

std::string cast_hint(const std::string& column, Oid type) {
    bool is_boolean, has_cast, is_time;
    pg_call([&] {
        is_boolean = getBaseType(type) == BOOLOID;
        const NumberKind kind = number_kind(type);
        is_time = is_point_in_time(kind) || kind == NumberKind::time || kind == NumberKind::interval;
        Oid function;
        has_cast = find_coercion_pathway(is_boolean ? INT4OID : FLOAT8OID, type, COERCION_EXPLICIT, &function) !=
                   COERCION_PATH_NONE;
    });
    if (is_time) return format("Make a number of it, as in extract(epoch FROM \"%s\")", column.c_str());
    return has_cast ? format("Cast it, as in \"%s\"::%s", column.c_str(), is_boolean ? "integer" : "float8")
                    : "Make a number of it";
}

std::string_view bytes_of(Datum value, Oid type) {
    if (type == NAMEOID) return NameStr(*DatumGetName(value));
    if (type == UUIDOID) return {reinterpret_cast<const char*>(DatumGetPointer(value)), UUID_LEN};
    struct varlena* const bytes = PG_DETOAST_DATUM_PACKED(value);
    return {VARDATA_ANY(bytes), static_cast<size_t>(VARSIZE_ANY_EXHDR(bytes))};
}

Datum bytes_datum(std::string_view bytes, Oid type) {
    if (type == NAMEOID || type == UUIDOID) {
        const size_t length = type == NAMEOID ? NAMEDATALEN : UUID_LEN;
        auto* const value = static_cast<char*>(palloc0(length));
        memcpy(value, bytes.data(), bytes.size());
        return PointerGetDatum(value);
    }
    return PointerGetDatum(cstring_to_text_with_len(bytes.data(), static_cast<int>(bytes.size())));
}

LabelKind label_kind(Oid type) {
    type = getBaseType(type);
    switch (type) {
    case TEXTOID:
    case VARCHAROID:
        return LabelKind::text;
    case BPCHAROID:
        return LabelKind::bpchar;
    case NAMEOID:
        return LabelKind::name;
    case BOOLOID:
        return LabelKind::boolean;
    case INETOID:
    case CIDROID:
        return LabelKind::network;
    default:
        return type_is_enum(type) ? LabelKind::enumeration : LabelKind::output;
    }
}

bool is_categorical(Oid type) {
    const LabelKind kind = label_kind(type);
    return kind != LabelKind::network && kind != LabelKind::output;
}

LabelRule label_rule(Oid type, MemoryContext context) {
    LabelRule rule{label_kind(type), nullptr, false, getBaseType(type)};
    if (rule.kind != LabelKind::output) return rule;
    Oid function;
    bool is_varlena;
    getTypeOutputInfo(type, &function, &is_varlena);
    rule.output_function = static_cast<FmgrInfo*>(MemoryContextAlloc(context, sizeof(FmgrInfo)));
    fmgr_info_cxt(function, rule.output_function, context);
    return rule;
}

LabelRule category_rule(Oid type, MemoryContext context) {
    LabelRule rule = label_rule(type, context);
    rule.in_any_session = true;
    return rule;
}

namespace {

// Says whether the type's equality is that of bytes, as btree's fourth support function does.
bool equals_by_bytes(Oid type, Oid collation) {
    if (const Oid element = get_element_type(type); OidIsValid(element))
        return equals_by_bytes(getBaseType(element), collation);
    if (const Oid subtype = get_range_subtype(type); OidIsValid(subtype))
        return equals_by_bytes(getBaseType(subtype), get_range_collation(type));
    const TypeCacheEntry* const entry = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);
    if (!OidIsValid(entry->btree_opf)) return true; // there is no equality but that of the text
    const Oid function =
        get_opfamily_proc(entry->btree_opf, entry->btree_opintype, entry->btree_opintype, BTEQUALIMAGE_PROC);
    return OidIsValid(function) &&
           DatumGetBool(OidFunctionCall1Coll(function, collation, ObjectIdGetDatum(entry->btree_opintype)));
}

// Returns the interval that has days of 24 hours in the place of months and of hours beyond a day, as its equality
// does; the interval itself where these are too many days.
Datum days_and_time(Datum value) {
    const Interval* const interval = DatumGetIntervalP(value);
    if (btml_compat_infinite_interval(interval)) return value;
    int64 days = int64{interval->month} * DAYS_PER_MONTH + interval->day + interval->time / USECS_PER_DAY;
    int64 time = interval->time % USECS_PER_DAY;
    if ((days > 0 && time < 0) || (days < 0 && time > 0)) { // one sign for both
        const int sign = days > 0 ? 1 : -1;
        days -= sign;
        time += sign * USECS_PER_DAY;
    }
    if (days != static_cast<int32>(days)) return value;
    auto* const equal = static_cast<Interval*>(palloc0(sizeof(Interval)));
    equal->day = static_cast<int32>(days);
    equal->time = time;
    return IntervalPGetDatum(equal);
}

// Returns the one of equal values that is a category; the value itself of types that have no others.
Datum one_of_equals(Datum value, Oid type) {
    switch (type) {
    case FLOAT4OID:
        return DatumGetFloat4(value) == 0 ? Float4GetDatum(0) : value;
    case FLOAT8OID:
        return DatumGetFloat8(value) == 0 ? Float8GetDatum(0) : value;
    case INTERVALOID:
        return days_and_time(value);
    default:
        return value;
    }
}

// Writes a value as pg_dump has it written, and points in time in UTC.
const char* text_in_any_session(Datum value, const LabelRule& rule) {
    if (rule.type == NUMERICOID) return numeric_normalize(DatumGetNumeric(value));
    const int date_style = DateStyle, interval_style = IntervalStyle, float_digits = extra_float_digits,
              bytea_style = bytea_output;
    pg_tz* const zone = session_timezone;
    char* volatile text = nullptr;
    PG_TRY();
    {
        DateStyle = USE_ISO_DATES;
        IntervalStyle = INTSTYLE_POSTGRES;
        extra_float_digits = 1;
        bytea_output = BYTEA_OUTPUT_HEX;
        session_timezone = pg_tzset("GMT");
        text = OutputFunctionCall(rule.output_function, one_of_equals(value, rule.type));
    }
    PG_FINALLY();
    {
        DateStyle = date_style;
        IntervalStyle = interval_style;
        extra_float_digits = float_digits;
        bytea_output = bytea_style;
        session_timezone = zone;
    }
    PG_END_TRY();
    return text;
}

} // namespace

CategoryFault category_fault(Oid type, Oid collation) {
    static constexpr Oid of_session[] = {MONEYOID,       REGPROCOID,       REGPROCEDUREOID, REGOPEROID,
                                         REGOPERATOROID, REGCLASSOID,      REGCOLLATIONOID, REGTYPEOID,
                                         REGCONFIGOID,   REGDICTIONARYOID, REGNAMESPACEOID, REGROLEOID};
    static constexpr Oid with_one_text[] = {NUMERICOID, FLOAT4OID, FLOAT8OID, INTERVALOID};
    type = getBaseType(type);
    const auto is_among = [=](const auto& types) {
        return std::find(std::begin(types), std::end(types), type) != std::end(types);
    };
    if (is_among(with_one_text)) return CategoryFault::none;
    const Oid element = get_element_type(type);
    if (OidIsValid(element) && category_fault(element, collation) == CategoryFault::of_session)
        return CategoryFault::of_session;
    if (is_among(of_session)) return CategoryFault::of_session;
    // A bpchar's category is its text without the padding, which its equality leaves out as well.
    return equals_by_bytes(type == BPCHAROID ? TEXTOID : type, collation) ? CategoryFault::none
                                                                          : CategoryFault::of_equals;
}

std::string_view label_of(Datum value, const LabelRule& rule) {
    switch (rule.kind) {
    case LabelKind::text:
        return bytes_of(value, TEXTOID);
    case LabelKind::name:
        return bytes_of(value, NAMEOID);
    case LabelKind::bpchar: {
        // The cast to text does the same.
        std::string_view text = bytes_of(value, BPCHAROID);
        while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
        return text;
    }
    case LabelKind::boolean:
        return DatumGetBool(value) ? "true" : "false";
    case LabelKind::enumeration:
        return DatumGetCString(DirectFunctionCall1(enum_out, value));
    case LabelKind::network:
        return bytes_of(DirectFunctionCall1(network_show, value), TEXTOID);
    case LabelKind::output:
        break;
    }
    return rule.in_any_session ? text_in_any_session(value, rule) : OutputFunctionCall(rule.output_function, value);
}

namespace {

// Returns false for more digits than 53 bits hold.
bool short_digits(const StoredNumeric& number, int64* digits) {
    *digits = 0;
    if (number.count > 4) return false;
    for (int i = 0; i < number.count; i++) *digits = *digits * 10000 + number.digit(i);
    return *digits <= (int64{1} << 53);
}

// Values whose digits fit 53 bits and whose scale is a power of ten that a double holds exactly need one correctly
// rounded division or multiplication (Clinger 1990); false for all others.
bool short_numeric(Datum numeric, double* result) {
    static constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    StoredNumeric number;
    int64 digits;
    if (!open_numeric(numeric, &number) || !short_digits(number, &digits)) return false;
    const int exponent = number.count > 0 ? 4 * (number.weight - number.count + 1) : 0;
    if (exponent > 22 || exponent < -22) return false;
    const auto value = static_cast<double>(number.negative ? -digits : digits);
    *result = exponent < 0 ? value / powers_of_ten[-exponent] : value * powers_of_ten[exponent];
    return true;
}

// Says whether two numerics may become the same finite double: what has as few digits as 1e300 stays apart from others.
bool is_rounded(Datum numeric, double number) {
    StoredNumeric stored;
    int64 digits;
    if (!open_numeric(PointerGetDatum(PG_DETOAST_DATUM_PACKED(numeric)), &stored) || short_digits(stored, &digits))
        return false;
    const Datum exact = DirectFunctionCall3(numeric_in, CStringGetDatum(psprintf("%.0f", number)),
                                            ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
    return !DatumGetBool(DirectFunctionCall2(numeric_eq, numeric, exact));
}

double numeric_number(Datum value, NumberColumn* column) {
    double result;
    if (short_numeric(PointerGetDatum(PG_DETOAST_DATUM_PACKED(value)), &result)) return result;
    const double number = from_sql(DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value)));
    if (!column || !(std::abs(number) >= 0x1p53)) return number;
    if (std::isfinite(number)) {
        if (is_rounded(value, number)) column->rounded++;
    } else if (!numeric_is_inf(DatumGetNumeric(value))) {
        ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
                        errmsg("numeric value %s in column \"%s\" is out of range for type double precision",
                               numeric_out_sci(DatumGetNumeric(value), 3), column->name),
                        errhint("Numbers up to 1.8e308 in magnitude fit.")));
    }
    return number;
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64 epoch_days = POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE;

double timestamp_number(Timestamp value) {
    if (TIMESTAMP_NOT_FINITE(value)) return TIMESTAMP_IS_NOBEGIN(value) ? -infinity : infinity;
    const int64 offset = epoch_days * USECS_PER_DAY;
    // Beyond 2^63 microseconds after 1970 the exact sum does not fit; there a double's resolution is milliseconds.
    if (value > PG_INT64_MAX - offset) return static_cast<double>(value) / 1e6 + static_cast<double>(offset) / 1e6;
    return static_cast<double>(value + offset) / 1e6;
}

double date_number(DateADT value) {
    if (DATE_NOT_FINITE(value)) return DATE_IS_NOBEGIN(value) ? -infinity : infinity;
    return static_cast<double>((value + epoch_days) * SECS_PER_DAY);
}

// Counts as extract(epoch FROM interval) does: a year has 365.25 days, a month 30.
double interval_number(const Interval* value) {
    if (const int sign = btml_compat_infinite_interval(value)) return sign * infinity;
    const int64 seconds = static_cast<int64>(value->month / MONTHS_PER_YEAR) * (SECS_PER_DAY / 4) * 1461 +
                          static_cast<int64>(value->month % MONTHS_PER_YEAR) * DAYS_PER_MONTH * SECS_PER_DAY +
                          static_cast<int64>(value->day) * SECS_PER_DAY;
    int64 microseconds;
    if (pg_mul_s64_overflow(seconds, USECS_PER_SEC, &microseconds) ||
        pg_add_s64_overflow(microseconds, value->time, &microseconds))
        return static_cast<double>(seconds) + static_cast<double>(value->time) / 1e6;
    return static_cast<double>(microseconds) / 1e6;
}

} // namespace

bool is_plain_number(NumberKind kind) {
    return kind <= NumberKind::numeric;
}

bool notice_rounded(const NumberColumn& column) {
    if (column.rounded == 0) return false;
    notice(
        format("%" PRIu64 " integer%s of column \"%s\" %s rounded: numbers are exact up to 2^53", column.rounded,
               column.rounded == 1 ? "" : "s", column.name, column.rounded == 1 ? "is" : "are"),
        "",
        "Leave the column out where it is an identifier, cast it to text where its values are categories, or subtract "
        "an offset from all of them.");
    return true;
}

// Dates go further than timestamps do.
static void require_timestamp(DateADT date, const NumberColumn* column) {
    if (!column || DATE_NOT_FINITE(date) || date < TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE) return;
    const char* const text = DatumGetCString(DirectFunctionCall1(date_out, DateADTGetDatum(date)));
    ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
                    errmsg("date %s in column \"%s\" is out of range for timestamp", text, column->name)));
}

double number_of_cast(Datum value, PGFunction time_cast, const NumberColumn* column) {
    if (time_cast == date_timestamp || time_cast == date_timestamptz) require_timestamp(DatumGetDateADT(value), column);
    const Datum point = DirectFunctionCall1(time_cast, value);
    const bool is_date = time_cast == timestamp_date || time_cast == timestamptz_date;
    return to_number(point, is_date ? NumberKind::date : NumberKind::timestamp, nullptr);
}

double to_number_slowly(Datum value, NumberKind kind, NumberColumn* column) {
    switch (kind) {
    case NumberKind::numeric:
        return numeric_number(value, column);
    case NumberKind::boolean:
        return DatumGetBool(value) ? 1 : 0;
    case NumberKind::date:
        return date_number(DatumGetDateADT(value));
    case NumberKind::time:
        return static_cast<double>(DatumGetTimeADT(value)) / 1e6;
    case NumberKind::timestamp:
    case NumberKind::timestamptz:
        return timestamp_number(DatumGetTimestamp(value));
    case NumberKind::interval:
        return interval_number(DatumGetIntervalP(value));
    default:
        return null_number;
    }
}

} // namespace btml::pg
