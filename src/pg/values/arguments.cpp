#include "pg/values/arguments.hpp"

#include "core/numbers/number.hpp"
#include "pg/values/result.hpp"

#include <algorithm>
#include <charconv>

extern "C" {
#include "catalog/pg_proc.h"
#include "utils/numeric.h"
#include "utils/syscache.h"
}

namespace btml::pg {

void Arguments::require(int i, const char* name) const {
    if (is_null(i)) throw Error(ErrorCode::null_value, format("argument \"%s\" must not be NULL", name));
}

std::optional<int64> whole_number(std::string_view text) {
    int64 integer{};
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, integer);
    const bool whole = end == last || (*end == '.' && std::all_of(end + 1, last, [](char c) { return c == '0'; }));
    return error == std::errc() && whole ? std::optional(integer) : std::nullopt;
}

static int64 require_whole(Datum numeric, const std::string& what) {
    const std::string text = text_of_numeric(numeric);
    if (const std::optional<int64> integer = whole_number(text)) return *integer;
    throw Error(ErrorCode::invalid_argument, format("%s must be an integer, not %s", what.c_str(), text.c_str()));
}

int64 Arguments::whole_number(int i, const char* name) const {
    return require_whole(datum(i, name), format("argument \"%s\"", name));
}

int Arguments::integer(int i, const char* name) const {
    const int64 value = bigint(i, name);
    if (value == static_cast<int>(value)) return static_cast<int>(value);
    throw Error(ErrorCode::out_of_range,
                format("argument \"%s\" is out of the range of integers, it is %" PRId64, name, value));
}

std::string text_of_numeric(Datum numeric) {
    return pg_call([=] { return DatumGetCString(DirectFunctionCall1(numeric_out, numeric)); });
}

std::string Arguments::string(int i, const char* name) const {
    const Datum value = datum(i, name);
    return to_string(pg_call([=] { return DatumGetTextPP(value); }));
}

std::string Arguments::column(int i, const char* name) const {
    return NameStr(*DatumGetName(datum(i, name)));
}

void require_one_dimension(const ArrayType* array, const char* name) {
    if (ARR_NDIM(array) > 1)
        throw Error(ErrorCode::wrong_type,
                    format("argument \"%s\" must be an array of one dimension, not of %d", name, ARR_NDIM(array)));
}

bool ArrayElements::has_null() const {
    return std::find(nulls.begin(), nulls.end(), true) != nulls.end();
}

ArrayElements elements_of(Datum array, Oid type, const char* name) {
    // How texts are stored is known without a look-up, which would cost in every row.
    int16 length = -1;
    bool by_value = false;
    char alignment = TYPALIGN_INT;
    ArrayType* flat = nullptr;
    Datum* values = nullptr;
    bool* nulls = nullptr;
    int count = 0;
    pg_call([&] {
        flat = DatumGetArrayTypeP(array);
        if (ARR_NDIM(flat) > 1) return;
        if (type != TEXTOID) get_typlenbyvalalign(type, &length, &by_value, &alignment);
        deconstruct_array(flat, type, length, by_value, alignment, &values, &nulls, &count);
    });
    require_one_dimension(flat, name);
    const auto size = static_cast<size_t>(count);
    return {{values, size}, {nulls, size}};
}

std::span<const Datum> elements_without_null(Datum array, Oid type, const char* name) {
    const ArrayElements elements = elements_of(array, type, name);
    if (elements.has_null()) throw Error(ErrorCode::null_value, format("argument \"%s\" must not contain NULL", name));
    return elements.values;
}

std::vector<std::string> Arguments::columns(int i, const char* name) const {
    std::vector<std::string> names;
    for (const Datum element : elements_without_null(datum(i, name), NAMEOID, name))
        names.emplace_back(NameStr(*DatumGetName(element)));
    return names;
}

std::vector<int64> Arguments::whole_numbers(int i, const char* name) const {
    std::vector<int64> numbers;
    for (const Datum element : elements_without_null(datum(i, name), NUMERICOID, name))
        numbers.push_back(require_whole(element, format("an element of argument \"%s\"", name)));
    return numbers;
}

std::vector<double> Arguments::numbers(int i, const char* name) const {
    std::vector<double> numbers;
    read_numbers(datum(i, name), name, numbers);
    return numbers;
}

void read_numbers(Datum array, const char* name, std::vector<double>& numbers) {
    ArrayType* const value = pg_call([=] { return DatumGetArrayTypeP(array); });
    require_one_dimension(value, name);
    const int count = ArrayGetNItems(ARR_NDIM(value), ARR_DIMS(value));
    const auto* element = reinterpret_cast<const unsigned char*>(ARR_DATA_PTR(value));
    const bits8* const bitmap = ARR_NULLBITMAP(value);
    numbers.resize(count);
    for (int k = 0; k < count; k++) {
        if (bitmap && !(bitmap[k / 8] & (1 << (k % 8)))) {
            numbers[k] = null_number;
            continue;
        }
        double number;
        memcpy(&number, element, sizeof(number));
        element += sizeof(number);
        numbers[k] = from_sql(number);
    }
}

NamedArguments::NamedArguments(FunctionCallInfo fcinfo) : arguments_(fcinfo) {
    Oid* types;
    char **names, *modes; // null where none has a name, and where all are of input
    const int count = pg_call([&] {
        const Oid function = fcinfo->flinfo->fn_oid;
        const HeapTuple row = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
        if (!HeapTupleIsValid(row)) elog(ERROR, "cache lookup failed for function %u", function);
        const int declared = get_func_arg_info(row, &types, &names, &modes);
        ReleaseSysCache(row);
        return declared;
    });
    for (int i = 0; i < count; i++)
        if (!modes || modes[i] == PROARGMODE_IN) parameters_.emplace_back(names ? names[i] : "", types[i]);
}

size_t NamedArguments::find(std::string_view name) const {
    const auto has_name = [&](const auto& parameter) { return parameter.first == name; };
    return static_cast<size_t>(std::find_if(parameters_.begin(), parameters_.end(), has_name) - parameters_.begin());
}

int NamedArguments::position(const char* name) const {
    const size_t found = find(name);
    if (found == parameters_.size())
        throw Error(ErrorCode::internal, format("the function is declared without an argument \"%s\"", name));
    return static_cast<int>(found);
}

std::optional<std::string> NamedArguments::optional_column(const char* name) const {
    if (!has(name) || is_null(name)) return std::nullopt;
    return column(name);
}

std::optional<std::vector<std::string>> NamedArguments::optional_columns(const char* name) const {
    if (!has(name) || is_null(name)) return std::nullopt;
    return columns(name);
}

} // namespace btml::pg
