// Names and texts as SQL has them, whatever is in them.
#pragma once

#include <string>
#include <string_view>

namespace btml::features {

// Returns the identifier in quotes.
inline std::string quoted_name(std::string_view name) {
    std::string text = "\"";
    for (const char c : name) text += c == '"' ? std::string(2, c) : std::string(1, c);
    return text + '"';
}

// Returns the identifier as people write it, without quotes where it is plain and no word that SQL may reserve.
inline std::string identifier(std::string_view name, bool (*is_reserved)(std::string_view)) {
    const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    bool plain = !name.empty() && (name[0] < '0' || name[0] > '9');
    for (const char c : name) plain = plain && is_plain(c);
    return plain && !is_reserved(name) ? std::string(name) : quoted_name(name);
}

// Returns the text as a literal, which is the same whatever standard_conforming_strings says.
inline std::string literal(std::string_view value) {
    std::string text = value.find('\\') == std::string_view::npos ? "'" : "E'";
    for (const char c : value) text += c == '\'' || c == '\\' ? std::string(2, c) : std::string(1, c);
    return text + '\'';
}

// Returns what follows "-- ": a comment ends with its line.
inline std::string comment(std::string_view words) {
    std::string text(words);
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    return text;
}

} // namespace btml::features
