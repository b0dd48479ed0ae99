#include "pg/values/json.hpp"

#include "pg/bridge/guard.hpp"

#include <charconv>

extern "C" {
#include "utils/jsonb.h"
}

namespace btml::pg {

// Bytes that jsonb_in holds for each element at most: a JsonbValue or half of a JsonbPair in an array that doubles, the
// head of an allocated string, an entry of the result in a buffer that doubles. Each text is there twice as well, as a
// string of a power of two bytes and in that buffer.
static constexpr uint64_t bytes_of_element = 112, bytes_of_character = 4;
static constexpr uint64_t first_room = 4; // elements in the array that an object or an array begins with

void JsonWriter::separate() {
    elements_++;
    if (!first_) text_.push_back(',');
    first_ = false;
}

void JsonWriter::key(std::string_view name) {
    separate();
    elements_++;
    quote(name);
    text_.push_back(':');
}

void JsonWriter::open(std::string_view name, char bracket) {
    if (name.empty())
        separate();
    else
        key(name);
    text_.push_back(bracket);
    elements_ += first_room;
    first_ = true;
}

void JsonWriter::close(char bracket) {
    text_.push_back(bracket);
    first_ = false;
}

void JsonWriter::append(std::string_view text) {
    const size_t begin = text_.size();
    text_.reserve(begin + text.size());
    text_.resize(begin + text.size());
    memcpy(text_.data() + begin, text.data(), text.size());
    context_.worked(text.size());
}

void JsonWriter::quote(std::string_view value) {
    static constexpr char hex[] = "0123456789abcdef";
    text_.push_back('"');
    for (char c : value) {
        if (c == '"' || c == '\\') {
            text_.push_back('\\');
            text_.push_back(c);
        } else if (static_cast<unsigned char>(c) < 0x20) {
            append("\\u00");
            text_.push_back(hex[c >> 4]);
            text_.push_back(hex[c & 15]);
        } else
            text_.push_back(c);
    }
    text_.push_back('"');
    context_.worked(value.size());
}

void JsonWriter::number(double value) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof(digits), value);
    append({digits, end.ptr});
}

Datum JsonWriter::datum() {
    text_.push_back('\0');
    const Reservation parsed(context_.memory(), "a result as JSON",
                             bytes_of_element * elements_ + bytes_of_character * text_.size());
    const char* const text = text_.data();
    return pg_call([=] { return DirectFunctionCall1(jsonb_in, CStringGetDatum(text)); });
}

} // namespace btml::pg
