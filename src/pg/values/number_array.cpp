#include "pg/values/number_array.hpp"

#include "pg/bridge/function_rights.hpp"

extern "C" {
#include "parser/parse_coerce.h"
#include "utils/regproc.h"
}

namespace btml::pg {

namespace {

ArrayRule rule_of_array(Oid array) {
    ArrayRule rule;
    const Oid element = getBaseType(get_element_type(array));
    const NumberKind kind = number_kind(element);
    if (!is_plain_number(kind)) return rule;
    rule.element = kind;
    get_typlenbyvalalign(element, &rule.length, &rule.by_value, &rule.alignment);
    return rule;
}

template <class T>
void copy_numbers(const ArrayType* array, std::vector<double>& numbers) {
    const char* const data = ARR_DATA_PTR(array);
    for (size_t i = 0; i < numbers.size(); i++) {
        T number;
        memcpy(&number, data + i * sizeof(T), sizeof(T));
        numbers[i] = from_sql(static_cast<double>(number));
    }
}

void convert_numbers(const ArrayRule& rule, ArrayType* array, double* numbers, NumberColumn& column) {
    Datum* values;
    bool* nulls;
    int count;
    deconstruct_array(array, ARR_ELEMTYPE(array), rule.length, rule.by_value, rule.alignment, &values, &nulls, &count);
    for (int i = 0; i < count; i++) numbers[i] = nulls[i] ? null_number : to_number(values[i], rule.element, &column);
}

// Makes the value an array.
ArrayType* converted(const ArrayRule& rule, Datum value) {
    return pg_call([&] {
        // A cast may also take the type modifier wanted (none) and whether it is explicit.
        const Datum array = !rule.cast                 ? value
                            : rule.cast_arguments == 1 ? FunctionCall1(rule.cast, value)
                            : rule.cast_arguments == 2
                                ? FunctionCall2(rule.cast, value, Int32GetDatum(-1))
                                : FunctionCall3(rule.cast, value, Int32GetDatum(-1), BoolGetDatum(true));
        return DatumGetArrayTypeP(array);
    });
}

int numbers_of(const ArrayRule& rule, ArrayType* array, std::vector<double>& numbers, NumberColumn& column) {
    const int dimensions = ARR_NDIM(array);
    numbers.resize(dimensions == 1 ? static_cast<size_t>(ARR_DIMS(array)[0]) : 0);
    if (dimensions != 1) return dimensions;
    if (rule.element == NumberKind::float8 && !ARR_HASNULL(array))
        copy_numbers<float8>(array, numbers);
    else if (rule.element == NumberKind::float4 && !ARR_HASNULL(array))
        copy_numbers<float4>(array, numbers);
    else
        pg_call([&] { convert_numbers(rule, array, numbers.data(), column); });
    return dimensions;
}

[[noreturn]] void refuse_array(const NumberColumn& column, ErrorCode code, const std::string& what,
                               const std::string& hint) {
    throw Error(code, format("column \"%s\" has %s", column.name, what.c_str()),
                "Each element of the column is a feature, so that all arrays have one length.", hint);
}

} // namespace

ArrayRule array_rule(Oid type, MemoryContext context) {
    if (const Oid base = getBaseType(type); OidIsValid(get_element_type(base))) return rule_of_array(base);
    Oid distrusted = InvalidOid;
    for (const Oid target : {FLOAT4ARRAYOID, FLOAT8ARRAYOID}) {
        Oid function;
        if (find_coercion_pathway(target, type, COERCION_EXPLICIT, &function) != COERCION_PATH_FUNC) continue;
        if (!is_trusted(function)) {
            distrusted = function;
            continue;
        }
        require_execute(function);
        ArrayRule rule = rule_of_array(target);
        rule.cast = static_cast<FmgrInfo*>(MemoryContextAlloc(context, sizeof(FmgrInfo)));
        fmgr_info_cxt(function, rule.cast, context);
        rule.cast_arguments = rule.cast->fn_nargs;
        return rule;
    }
    ArrayRule none;
    none.distrusted_cast = distrusted;
    return none;
}

int read_numbers(const ArrayRule& rule, Datum value, std::vector<double>& numbers, NumberColumn& column) {
    return numbers_of(rule, converted(rule, value), numbers, column);
}

void check_vector(const ArrayShape& shape, size_t length, bool by_model, const NumberColumn& column) {
    if (shape.dimensions > 1)
        refuse_array(column, ErrorCode::wrong_type, format("an array of %d dimensions", shape.dimensions),
                     "Take one slice of it.");
    if (shape.dimensions == 0)
        refuse_array(column, ErrorCode::invalid_argument, "an empty array", "NULL is for an array that is missing.");
    if (shape.first != 1)
        refuse_array(column, ErrorCode::invalid_argument,
                     format("an array that begins at [%d], not at [1]", shape.first),
                     format("Take it as \"%s\"[:], which begins at 1.", column.name));
    if (length != 0 && shape.elements != length)
        refuse_array(column, ErrorCode::invalid_argument,
                     format("an array of length %zu, %s %zu", shape.elements,
                            by_model ? "the model expects" : "another row has one of", length),
                     by_model ? "" : "Leave such rows out with WHERE, or make the arrays alike.");
}

void read_vector(const ArrayRule& rule, Datum value, size_t length, bool by_model, std::vector<double>& numbers,
                 NumberColumn& column) {
    ArrayType* const array = converted(rule, value);
    const int dimensions = numbers_of(rule, array, numbers, column);
    check_vector({numbers.size(), dimensions, dimensions == 0 ? 1 : ARR_LBOUND(array)[0]}, length, by_model, column);
}

std::string array_type_name(const ArrayRule& rule) {
    switch (rule.element) {
    case NumberKind::int2:
        return "smallint[]";
    case NumberKind::int4:
        return "integer[]";
    case NumberKind::int8:
        return "bigint[]";
    case NumberKind::float4:
        return "real[]";
    case NumberKind::numeric:
        return "numeric[]";
    default:
        return "double precision[]";
    }
}

std::string detail_of_distrust(const ArrayRule& rule) {
    return format("Its cast calls %s, which belongs neither to you nor to a superuser.",
                  pg_call([&] { return format_procedure(rule.distrusted_cast); }));
}

std::string hint_of_distrust(const ArrayRule& rule, const std::string& column) {
    return format("Where you trust that function, write the cast in the source: \"%s\"::%s.", column.c_str(),
                  pg_call([&] { return format_type_be(get_func_rettype(rule.distrusted_cast)); }));
}

static ArrayType* new_array(size_t count, Oid type, size_t element_bytes) {
    return pg_call([=] {
        if (count == 0) return construct_empty_array(type);
        const Size bytes = ARR_OVERHEAD_NONULLS(1) + element_bytes * count;
        if (!AllocSizeIsValid(bytes))
            ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                            errmsg("an array of %zu numbers is larger than the 1 GB that a value may have", count)));
        auto* const array = static_cast<ArrayType*>(palloc0(bytes));
        SET_VARSIZE(array, bytes);
        array->ndim = 1;
        array->elemtype = type;
        ARR_DIMS(array)[0] = static_cast<int>(count);
        ARR_LBOUND(array)[0] = 1;
        return array;
    });
}

ArrayType* new_number_array(size_t count) {
    return new_array(count, FLOAT8OID, sizeof(float8));
}

ArrayType* new_integer_array(size_t count) {
    return new_array(count, INT4OID, sizeof(int32));
}

Datum number_array(std::span<const double> numbers) {
    ArrayType* const array = new_number_array(numbers.size());
    if (!numbers.empty()) memcpy(ARR_DATA_PTR(array), numbers.data(), numbers.size_bytes());
    return PointerGetDatum(array);
}

} // namespace btml::pg
