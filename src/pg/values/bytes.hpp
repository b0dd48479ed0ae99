// Opaque SQL types: bytes in a varlena, base64 as text.
#pragma once

#include "core/base/run_context.hpp"
#include "pg/bridge/guard.hpp"

#include <cstddef>

extern "C" {
#include "lib/stringinfo.h"
}

namespace btml::pg {

// A varlena with these bytes. Error limit_exceeded beyond 1 GB.
Datum bytes_datum(std::span<const std::byte> bytes);
// The bytes of a varlena, detoasted; they live as long as the current memory context, or the value.
std::span<const std::byte> datum_bytes(Datum value);

// Frees what datum_bytes gave where that is a copy of the value: one too large to be left to the memory context.
void free_copy(Datum value, std::span<const std::byte> bytes);

// Error INVALID_TEXT_REPRESENTATION, naming the type, for what is not base64, with the hint unless that is null.
std::span<const std::byte> decode_base64(const char* text, const char* type, RunContext& context,
                                         const char* hint = nullptr);
Datum encode_base64(std::span<const std::byte> bytes, RunContext& context); // a cstring

// The bytes' SHA-256. Polls.
std::array<std::byte, 32> sha256(std::span<const std::byte> bytes);

// Checks a text of a value that came from outside. Error corrupt_model where it is not valid in the encoding of the
// database.
void check_stored_text(std::string_view text);

// All that is left of a message to a receive function.
std::span<const std::byte> message_bytes(StringInfo message);

} // namespace btml::pg
