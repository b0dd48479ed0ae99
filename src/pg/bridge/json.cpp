#include "pg/bridge/json.hpp"

#include "pg/bridge/guard.hpp"

#include <charconv>

extern "C" {
#include "utils/jsonb.h"
}

namespace btml::pg {

void JsonWriter::separate() {
    if (!first_) text_.push_back(',');
    first_ = false;
}

void JsonWriter::key(std::string_view name) {
    separate();
    quote(name);
    text_.push_back(':');
}

void JsonWriter::open(std::string_view name, char bracket) {
    if (name.empty())
        separate();
    else
        key(name);
    text_.push_back(bracket);
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
    // The parsed form, and the value made of it: a few bytes more than the text, for texts of any length.
    const Reservation parsed(context_.memory(), "a result as JSON", 2 * text_.size());
    const char* const text = text_.data();
    return pg_call([=] { return DirectFunctionCall1(jsonb_in, CStringGetDatum(text)); });
}

} // namespace btml::pg
