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

} // namespace

BTML_FUNCTION(btml_model_compare) {
    const int order = compare_models(fcinfo);
    return Int32GetDatum((order > 0) - (order < 0));
}

BTML_FUNCTION(btml_model_equal) {
    return BoolGetDatum(compare_models(fcinfo) == 0);
}

BTML_FUNCTION(btml_model_not_equal) {
    return BoolGetDatum(compare_models(fcinfo) != 0);
}

BTML_FUNCTION(btml_model_less) {
    return BoolGetDatum(compare_models(fcinfo) < 0);
}

BTML_FUNCTION(btml_model_less_equal) {
    return BoolGetDatum(compare_models(fcinfo) <= 0);
}

BTML_FUNCTION(btml_model_greater) {
    return BoolGetDatum(compare_models(fcinfo) > 0);
}

BTML_FUNCTION(btml_model_greater_equal) {
    return BoolGetDatum(compare_models(fcinfo) >= 0);
}

BTML_FUNCTION(btml_model_hash) {
    return pg_call([=] {
        struct varlena* const header = header_of(PG_GETARG_DATUM(0));
        const std::span<const std::byte> bytes = bytes_in(header);
        const Datum hash =
            hash_any(reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
        pfree(header);
        return hash;
    });
}

BTML_FUNCTION(btml_model_hash_extended) {
    return pg_call([=] {
        struct varlena* const header = header_of(PG_GETARG_DATUM(0));
        const std::span<const std::byte> bytes = bytes_in(header);
        const Datum hash = hash_any_extended(reinterpret_cast<const unsigned char*>(bytes.data()),
                                             static_cast<int>(bytes.size()), static_cast<uint64>(PG_GETARG_INT64(1)));
        pfree(header);
        return hash;
    });
}

} // namespace btml::pg
