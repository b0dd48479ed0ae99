#include "pg/bridge/json.hpp"

#include <charconv>

namespace btml::pg {

void JsonWriter::separate() {
    if (!first_) text_ += ',';
    first_ = false;
}

void JsonWriter::key(std::string_view name) {
    separate();
    quote(name);
    text_ += ':';
}

void JsonWriter::open(std::string_view name, char bracket) {
    if (name.empty())
        separate();
    else
        key(name);
    text_ += bracket;
    first_ = true;
}

void JsonWriter::close(char bracket) {
    text_ += bracket;
    first_ = false;
}

void JsonWriter::quote(std::string_view value) {
    static constexpr char hex[] = "0123456789abcdef";
    text_ += '"';
    for (char c : value) {
        if (c == '"' || c == '\\') {
            text_ += '\\';
            text_ += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            text_ += "\\u00";
            text_ += hex[c >> 4];
            text_ += hex[c & 15];
        } else
            text_ += c;
    }
    text_ += '"';
}

void JsonWriter::number(double value) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof(digits), value);
    text_.append(digits, end.ptr);
}

} // namespace btml::pg
