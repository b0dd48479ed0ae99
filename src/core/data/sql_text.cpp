#include "core/data/sql_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace btml {

SqlText& SqlText::operator<<(double x) {
    if (!std::isfinite(x)) {
        const char* const name = std::isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity";
        if (is_ansi_)
            throw Error(ErrorCode::not_supported, format("ANSI SQL has no %s, which the model has", name), "",
                        "Use the dialect \"postgresql\".");
        return *this << "'" << name << "'::float8";
    }
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), x, std::chars_format::general, 17).ptr;
    return number([&] { *this << std::string_view(digits.begin(), end); });
}

SqlText& SqlText::term(double x) {
    if (!sums_floats_) return *this << x;
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), static_cast<float>(x)).ptr;
    return cast([&] { *this << "'" << std::string_view(digits.begin(), end) << "'"; }, is_ansi_ ? "REAL" : "float4");
}

SqlText& SqlText::identifier(std::string_view name) {
    *this << "\"";
    doubling(name, "\"");
    return *this << "\"";
}

// A column of another type may have a cast to the array. Databases of the standard's dialect have arrays only.
SqlText& SqlText::value(const Feature& feature) {
    if (feature.element == 0) return identifier(feature.name);
    if (!is_ansi_) *this << "(";
    identifier(feature.column());
    if (!is_ansi_) *this << "::" << feature.type << ")";
    return *this << "[" << feature.element << "]";
}

SqlText& SqlText::literal(std::string_view value) {
    if (is_ansi_) {
        *this << "'";
        doubling(value, "'");
        return *this << "'";
    }
    *this << (value.find('\\') == std::string_view::npos ? "'" : "E'");
    doubling(value, "'\\");
    return *this << "'";
}

void SqlText::doubling(std::string_view text, std::string_view characters) {
    for (size_t at = text.find_first_of(characters); at != std::string_view::npos;
         at = text.find_first_of(characters)) {
        *this << text.substr(0, at + 1) << text.substr(at, 1);
        text.remove_prefix(at + 1);
    }
    *this << text;
}

namespace {

// "timestamp(3) with time zone" is a timestamp; "timestamped" is not.
bool is_type(std::string_view type, std::string_view name) {
    return type.starts_with(name) &&
           (type.size() == name.size() || type[name.size()] == ' ' || type[name.size()] == '(');
}

// Returns the type that a point in time had in training, to which predict() casts another; nothing for other types.
std::string_view point_in_time(std::string_view type) {
    if (is_type(type, "date")) return "date";
    if (is_type(type, "timestamptz")) return "timestamptz";
    if (!is_type(type, "timestamp")) return "";
    return type.ends_with("with time zone") ? "timestamptz" : "timestamp";
}

bool is_time(std::string_view type) {
    return !point_in_time(type).empty() || is_type(type, "time") || is_type(type, "timetz") ||
           is_type(type, "interval");
}

// Returns the type by whose equality categories are compared where their text depends on settings, on the scale of a
// numeric or on the sign of a zero; nothing for types whose cast to text is the category.
std::string_view compared_type(std::string_view type) {
    static constexpr std::string_view types[] = {"numeric",
                                                 "double precision",
                                                 "real",
                                                 "interval",
                                                 "bytea",
                                                 "daterange",
                                                 "tsrange",
                                                 "tstzrange",
                                                 "date[]",
                                                 "bytea[]",
                                                 "timestamp without time zone[]",
                                                 "timestamp with time zone[]"};
    for (const std::string_view known : types)
        if (type == known) return known;
    return point_in_time(type);
}

// A text cut to one character more than any of the labels has is no other's.
void write_category(const Feature& feature, std::span<const uint32_t> codes, SqlText& sql) {
    if (!sql.is_ansi()) {
        const std::string_view type = compared_type(feature.type);
        sql.value(feature) << "::" << (type.empty() ? "text COLLATE \"C\"" : type);
        return;
    }
    size_t longest = 0;
    for (const uint32_t code : codes) longest = std::max(longest, feature.categories[code].size());
    (sql << "CAST(").value(feature) << " AS VARCHAR(" << longest + 1 << "))";
}

// Servers write numbers with a fraction in ways of their own, so such categories are compared as numbers.
bool has_fractions(const Feature& feature) {
    return is_type(feature.type, "double precision") || is_type(feature.type, "real") ||
           is_type(feature.type, "numeric");
}

} // namespace

void write_number(const Feature& feature, SqlText& sql) {
    if (feature.type == "boolean") { // which has no cast to a double of its own
        sql.number([&] { sql.integer([&] { sql.value(feature); }); });
        return;
    }
    if (!is_time(feature.type)) {
        sql.number([&] { sql.value(feature); });
        return;
    }
    if (sql.is_ansi())
        throw Error(
            ErrorCode::not_supported,
            format("ANSI SQL has no number for feature \"%s\" of type %s", feature.name.c_str(), feature.type.c_str()),
            "It has no seconds since 1970.", "Use the dialect \"postgresql\", or train on numbers made of it.");
    (sql << "extract(epoch from ").value(feature);
    if (const std::string_view type = point_in_time(feature.type); !type.empty()) sql << "::" << type;
    sql << ")::float8";
}

void write_in_categories(const Feature& feature, std::span<const uint32_t> codes, SqlText& sql) {
    const bool as_numbers = sql.is_ansi() && has_fractions(feature);
    if (as_numbers)
        write_number(feature, sql);
    else
        write_category(feature, codes, sql);
    sql << " IN (";
    const char* separator = "";
    for (const uint32_t code : codes) {
        sql << separator;
        if (as_numbers)
            sql << std::strtod(feature.categories[code].c_str(), nullptr);
        else
            sql.literal(feature.categories[code]);
        separator = ", ";
    }
    sql << ")";
}

} // namespace btml
