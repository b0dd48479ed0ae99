#include "pg/bridge/bytes.hpp"

#include "core/base/serial.hpp"

extern "C" {
#include "libpq/pqformat.h"
#include "mb/pg_wchar.h"
}

namespace btml::pg {

Datum bytes_datum(std::span<const std::byte> bytes) {
    if (bytes.size() > MaxAllocSize - VARHDRSZ)
        throw Error(ErrorCode::limit_exceeded, format("%zu bytes exceed the %zu that a value may have", bytes.size(),
                                                      static_cast<size_t>(MaxAllocSize - VARHDRSZ)));
    return pg_call([=] {
        auto* const value = static_cast<bytea*>(palloc(VARHDRSZ + bytes.size()));
        SET_VARSIZE(value, VARHDRSZ + bytes.size());
        memcpy(VARDATA(value), bytes.data(), bytes.size());
        return PointerGetDatum(value);
    });
}

std::span<const std::byte> datum_bytes(Datum value) {
    struct varlena* const stored = pg_call([=] { return PG_DETOAST_DATUM_PACKED(value); });
    return {reinterpret_cast<const std::byte*>(VARDATA_ANY(stored)), static_cast<size_t>(VARSIZE_ANY_EXHDR(stored))};
}

void free_copy(Datum value, std::span<const std::byte> bytes) {
    const auto* const first = reinterpret_cast<const char*>(bytes.data());
    if (VARDATA_ANY(DatumGetPointer(value)) == first) return;
    pg_call([=] { pfree(const_cast<char*>(first) - VARHDRSZ); });
}

std::span<const std::byte> decode_base64(const char* text, const char* type) {
    return pg_call([=] {
        const int length = static_cast<int>(strlen(text)), room = pg_b64_dec_len(length);
        auto* const bytes = static_cast<std::byte*>(palloc(static_cast<Size>(room) + 1));
        const int size = btml_compat_base64_decode(text, length, bytes, room);
        if (size < 0)
            ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
                            errmsg("invalid input syntax for type %s", type), errdetail("The text form is base64.")));
        return std::span<const std::byte>(bytes, static_cast<size_t>(size));
    });
}

Datum encode_base64(std::span<const std::byte> bytes) {
    return pg_call([=] {
        // Four characters for three bytes must fit a value as well.
        if (bytes.size() > MaxAllocSize / 4 * 3 - 4)
            ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                            errmsg("the text form of %zu bytes exceeds the %zu that a value may have", bytes.size(),
                                   static_cast<size_t>(MaxAllocSize)),
                            errhint("Use the binary form: the cast to bytea, or COPY with FORMAT binary.")));
        const int length = static_cast<int>(bytes.size()), room = pg_b64_enc_len(length);
        auto* const text = static_cast<char*>(palloc(static_cast<Size>(room) + 1));
        text[btml_compat_base64_encode(bytes.data(), length, text, room)] = '\0';
        return CStringGetDatum(text);
    });
}

std::span<const std::byte> message_bytes(StringInfo message) {
    return pg_call([=] {
        const int length = message->len - message->cursor;
        return std::span<const std::byte>(reinterpret_cast<const std::byte*>(pq_getmsgbytes(message, length)),
                                          static_cast<size_t>(length));
    });
}

std::array<std::byte, 32> sha256(std::span<const std::byte> bytes) {
    std::array<std::byte, 32> digest;
    pg_call([&] {
        btml_compat_sha256(reinterpret_cast<const uint8*>(bytes.data()), bytes.size(),
                           reinterpret_cast<uint8*>(digest.data()));
    });
    return digest;
}

void require_valid_text(std::string_view text) {
    const bool valid = pg_call(
        [=] { return pg_verify_mbstr(GetDatabaseEncoding(), text.data(), static_cast<int>(text.size()), true); });
    if (!valid) corrupt_model("A text is not valid in the encoding of the database.");
}

} // namespace btml::pg
