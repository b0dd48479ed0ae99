// Order, equality and hashes of btml.model: those of the portable bytes, so that a model that was dumped and restored
// is equal to what it was. The headers decide: a digest of the rest is in them, and every way to make a value has
// checked that it is the rest's, or has computed it. So a comparison takes the same time and memory for models of any
// size.
#include "core/base/envelope.hpp"
#include "pg/bridge/guard.hpp"

extern "C" {
#include "common/hashfn.h"
}

namespace btml::pg {

namespace {

int compare_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
    const int order = memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
    return order != 0 ? order : (a.size() > b.size()) - (a.size() < b.size());
}

// The header of a value, in a copy that the caller frees: of one that is stored as the type asks for, out of line and
// not compressed, no more is read. May ereport.
struct varlena* header_of(Datum value) {
    return PG_DETOAST_DATUM_SLICE(value, 0, envelope_header_size);
}

std::span<const std::byte> bytes_in(const struct varlena* value) {
    return {reinterpret_cast<const std::byte*>(VARDATA_ANY(value)), static_cast<size_t>(VARSIZE_ANY_EXHDR(value))};
}

// Negative, 0 or positive.
int compare_models(FunctionCallInfo fcinfo) {
    return pg_call([=] {
        struct varlena *const x = header_of(PG_GETARG_DATUM(0)), *const y = header_of(PG_GETARG_DATUM(1));
        const int order = compare_bytes(bytes_in(x), bytes_in(y));
        pfree(x);
        pfree(y);
        return order;
    });
}

template <class Hash>
Datum hash_model(FunctionCallInfo fcinfo, const Hash& hash) {
    return pg_call([=] {
        struct varlena* const header = header_of(PG_GETARG_DATUM(0));
        const std::span<const std::byte> bytes = bytes_in(header);
        const Datum result = hash(reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
        pfree(header);
        return result;
    });
}

} // namespace

BTML_FUNCTION(btml_model_compare) {
    const int order = compare_models(fcinfo);
    return Int32GetDatum((order > 0) - (order < 0));
}

// btml_internal.model_NAME(a, b) → boolean
#define BTML_MODEL_COMPARISON(name, comparison)                                                                        \
    BTML_FUNCTION(btml_model_##name) {                                                                                 \
        return BoolGetDatum(compare_models(fcinfo) comparison 0);                                                      \
    }
BTML_MODEL_COMPARISON(equal, ==)
BTML_MODEL_COMPARISON(not_equal, !=)
BTML_MODEL_COMPARISON(less, <)
BTML_MODEL_COMPARISON(less_equal, <=)
BTML_MODEL_COMPARISON(greater, >)
BTML_MODEL_COMPARISON(greater_equal, >=)

BTML_FUNCTION(btml_model_hash) {
    return hash_model(fcinfo, [](const unsigned char* bytes, int length) { return hash_any(bytes, length); });
}

BTML_FUNCTION(btml_model_hash_extended) {
    const auto seed = static_cast<uint64>(PG_GETARG_INT64(1));
    return hash_model(fcinfo,
                      [=](const unsigned char* bytes, int length) { return hash_any_extended(bytes, length, seed); });
}

} // namespace btml::pg
