#include "pg/values/number_array.hpp"

#include "pg/bridge/function_rights.hpp"

extern "C" {
#include "parser/parse_coerce.h"
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

} // namespace

ArrayRule array_rule(Oid type, MemoryContext context) {
    if (OidIsValid(get_element_type(type))) return rule_of_array(type);
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
    ArrayType* const array = pg_call([&] {
        // A cast may also take the type modifier wanted (none) and whether it is explicit.
        const Datum converted = !rule.cast                 ? value
                                : rule.cast_arguments == 1 ? FunctionCall1(rule.cast, value)
                                : rule.cast_arguments == 2
                                    ? FunctionCall2(rule.cast, value, Int32GetDatum(-1))
                                    : FunctionCall3(rule.cast, value, Int32GetDatum(-1), BoolGetDatum(true));
        return DatumGetArrayTypeP(converted);
    });
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
