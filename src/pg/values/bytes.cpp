#include "pg/values/bytes.hpp"

#include "core/base/serial.hpp"

extern "C" {
#include "common/cryptohash.h"
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

// Bytes that are coded between two polls: whole groups of three bytes, or four characters.
static constexpr size_t coded_bytes = size_t{3} << 16, coded_characters = coded_bytes / 3 * 4;

std::span<const std::byte> decode_base64(const char* text, const char* type, RunContext& context, const char* hint) {
    const size_t length = strlen(text), room = length / 4 * 3 + 3;
    const Reservation counted(context.memory(), "the bytes of a value", room);
    auto* const bytes = pg_call([=] { return static_cast<std::byte*>(palloc_extended(room, MCXT_ALLOC_HUGE)); });
    size_t size = 0;
    for (size_t begin = 0; begin < length; begin += coded_characters) {
        const size_t some = std::min(coded_characters, length - begin);
        const int decoded = btml_compat_base64_decode(text + begin, static_cast<int>(some), bytes + size,
                                                      static_cast<int>(room - size));
        // Padding, which makes a part shorter, belongs at the end.
        if (decoded < 0 || (begin + some < length && static_cast<size_t>(decoded) != coded_bytes))
            pg_call([=] {
                ereport(ERROR,
                        (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("invalid input syntax for type %s", type),
                         errdetail("The text form is base64."), hint ? errhint("%s", hint) : 0));
            });
        size += static_cast<size_t>(decoded);
        context.worked(some);
    }
    return {bytes, size};
}

Datum encode_base64(std::span<const std::byte> bytes, RunContext& context) {
    // Four characters for three bytes must fit a value as well.
    if (bytes.size() > MaxAllocSize / 4 * 3 - 4)
        throw Error(ErrorCode::limit_exceeded,
                    format("the text form of %zu bytes exceeds the %zu that a value may have", bytes.size(),
                           static_cast<size_t>(MaxAllocSize)),
                    "", "Use the binary form: the cast to bytea, or COPY with FORMAT binary.");
    const size_t room = (bytes.size() + 2) / 3 * 4;
    const Reservation counted(context.memory(), "the text of a value", room + 1);
    auto* const text = pg_call([=] { return static_cast<char*>(palloc(room + 1)); });
    size_t length = 0;
    for (size_t begin = 0; begin < bytes.size(); begin += coded_bytes) {
        const size_t some = std::min(coded_bytes, bytes.size() - begin);
        length += static_cast<size_t>(btml_compat_base64_encode(bytes.data() + begin, static_cast<int>(some),
                                                                text + length, static_cast<int>(room - length)));
        context.worked(some);
    }
    text[length] = '\0';
    return CStringGetDatum(text);
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
    pg_call([bytes, &digest] {
        constexpr size_t block = 1024 * 1024;
        pg_cryptohash_ctx* const context = pg_cryptohash_create(PG_SHA256);
        bool done = context && pg_cryptohash_init(context) >= 0;
        const auto* const data = reinterpret_cast<const uint8*>(bytes.data());
        for (size_t begin = 0; done && begin < bytes.size(); begin += block) {
            CHECK_FOR_INTERRUPTS();
            done = pg_cryptohash_update(context, data + begin, std::min(block, bytes.size() - begin)) >= 0;
        }
        done = done && pg_cryptohash_final(context, reinterpret_cast<uint8*>(digest.data()), digest.size()) >= 0;
        pg_cryptohash_free(context);
        if (!done) ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("the server could not compute SHA-256")));
    });
    return digest;
}

void check_stored_text(std::string_view text) {
    const bool valid = pg_call(
        [=] { return pg_verify_mbstr(GetDatabaseEncoding(), text.data(), static_cast<int>(text.size()), true); });
    if (!valid) corrupt_model("A text is not valid in the encoding of the database.");
}

} // namespace btml::pg
