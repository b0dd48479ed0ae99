#include "pg/exemplar_function.hpp"

#include "pg/bridge/function_rights.hpp"
#include "pg/values/values.hpp"

#include <limits>

extern "C" {
#include "utils/datum.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
}

namespace btml::pg {

namespace {

// After so many calls, or bytes, the memory that the function has left behind is given back.
constexpr unsigned calls_per_reset = 1000;
constexpr size_t max_scratch_bytes = size_t{1} << 18;

// Returns a function that the user may call, and puts its types there; InvalidOid for one that is no dissimilarity.
Oid find_function(const char* signature, Oid* type, Oid* result) {
    const Oid function = DatumGetObjectId(DirectFunctionCall1(regprocedurein, CStringGetDatum(signature)));
    require_execute(function);
    const HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple)) elog(ERROR, "cache lookup failed for function %u", function);
    const auto* const form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
    const bool valid = form->pronargs == 2 && form->prokind == PROKIND_FUNCTION && !form->proretset &&
                       form->proargtypes.values[0] == form->proargtypes.values[1] &&
                       is_plain_number(number_kind(form->prorettype)) &&
                       get_typtype(form->proargtypes.values[0]) != TYPTYPE_PSEUDO;
    *result = form->prorettype;
    *type = form->proargtypes.values[0];
    ReleaseSysCache(tuple);
    return valid ? function : InvalidOid;
}

} // namespace

SqlDissimilarity::SqlDissimilarity(const std::string& signature) : signature_(signature) {
    const char* const text = signature_.c_str();
    const Oid function = pg_call([=, this] { return find_function(text, &type_, &result_); });
    if (!OidIsValid(function))
        throw Error(ErrorCode::wrong_type, format("%s cannot be a dissimilarity", text), "",
                    "It must be a function of two arguments of one type that returns a number.");
    pg_call([&] {
        fmgr_info(function, &function_);
        get_typlenbyval(type_, &length_, &by_value_);
        collation_ = get_typcollation(type_);
        scratch_ = AllocSetContextCreate(CurrentMemoryContext, "btml dissimilarity", ALLOCSET_DEFAULT_SIZES);
    });
}

std::span<const std::byte> SqlDissimilarity::bytes(Datum value) {
    const std::span<const std::byte> stored = pg_call([&] {
        if (by_value_) return std::span<const std::byte>();
        const Datum plain = length_ == -1 ? PointerGetDatum(PG_DETOAST_DATUM(value)) : value;
        const auto* const data = reinterpret_cast<const std::byte*>(DatumGetPointer(plain));
        return std::span<const std::byte>(data, datumGetSize(plain, by_value_, length_));
    });
    if (by_value_) {
        bytes_.resize(sizeof(value));
        memcpy(bytes_.data(), &value, sizeof(value));
    } else
        bytes_.assign(stored.begin(), stored.end());
    return bytes_;
}

Datum SqlDissimilarity::datum(std::span<const std::byte> bytes) const {
    if (!by_value_) return PointerGetDatum(bytes.data());
    Datum value;
    memcpy(&value, bytes.data(), sizeof(value));
    return value;
}

double SqlDissimilarity::operator()(std::span<const std::byte> row, std::span<const std::byte> exemplar) {
    const Datum a = datum(row), b = datum(exemplar);
    bool null = false;
    const double value = pg_call([&] {
        if (calls_++ % calls_per_reset == 0 || MemoryContextMemAllocated(scratch_, false) > max_scratch_bytes)
            MemoryContextReset(scratch_);
        const MemoryContext before = MemoryContextSwitchTo(scratch_);
        LOCAL_FCINFO(call, 2);
        InitFunctionCallInfoData(*call, &function_, 2, collation_, nullptr, nullptr);
        call->args[0] = {a, false};
        call->args[1] = {b, false};
        const Datum result = FunctionCallInvoke(call);
        null = call->isnull;
        const double number = null ? 0 : to_number(result, number_kind(result_), nullptr);
        MemoryContextSwitchTo(before);
        return number;
    });
    if (null) throw Error(ErrorCode::null_value, format("dissimilarity %s returned NULL", signature_.c_str()));
    if (!(value >= 0 && value <= std::numeric_limits<float>::max()))
        throw Error(ErrorCode::out_of_range,
                    format("dissimilarity %s returned %s", signature_.c_str(),
                           std::isnan(value)   ? "NaN"
                           : std::isinf(value) ? "an infinite number"
                                               : shortest(value).c_str()),
                    "", "A dissimilarity is a number from 0 to 3.4e38.");
    return value;
}

} // namespace btml::pg
