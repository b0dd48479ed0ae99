// SQL that models are written as, in PostgreSQL's dialect or in the standard's.
#pragma once

#include "core/base/text_builder.hpp"
#include "core/data/feature.hpp"

#include <optional>
#include <span>

namespace btml {

// ansi is what the standard of 2023 has: CAST instead of ::, no collation, no NaN, infinity or seconds of a time.
enum class SqlDialect : uint8_t { postgresql, ansi };
inline constexpr const char* sql_dialect_names[] = {"postgresql", "ansi"};

struct SqlForm {
    SqlDialect dialect = SqlDialect::postgresql;
    std::optional<size_t> label = {}; // whose probability it is; none: what the model predicts
};

class SqlText {
  public:
    // sums_floats: scores are of type real.
    SqlText(SqlDialect dialect, RunContext& context, bool sums_floats = false)
        : is_ansi_(dialect == SqlDialect::ansi), sums_floats_(sums_floats), text_(context, "the SQL of a model") {}

    bool is_ansi() const { return is_ansi_; }
    Buffer<char> take() { return text_.take(); }

    template <class Piece>
    SqlText& operator<<(const Piece& piece) {
        text_ << piece;
        return *this;
    }
    SqlText& operator<<(double x);
    // Write what write() writes, as a double and as an integer.
    template <class Write>
    SqlText& number(const Write& write) {
        return cast(write, is_ansi_ ? "DOUBLE PRECISION" : "float8");
    }
    template <class Write>
    SqlText& integer(const Write& write) {
        return cast(write, "integer");
    }
    // Writes a term of a score.
    SqlText& term(double x);
    // Writes a score, which write() writes.
    template <class Write>
    SqlText& sum(const Write& write) {
        return sums_floats_ ? number([&] { *this << "(", write(), *this << ")"; }) : (write(), *this);
    }
    // Writes a difference of two scores, as softmax takes it, in PostgreSQL's dialect.
    template <class Write>
    SqlText& difference(const Write& write) {
        return sums_floats_ ? cast(write, "float4") : (write(), *this);
    }
    SqlText& identifier(std::string_view name);
    // Writes what a feature is in a row: its column, or an element of it.
    SqlText& value(const Feature& feature);
    // Writes a text: as an E'' string wherever there is a backslash: its meaning does not depend on
    // standard_conforming_strings.
    SqlText& literal(std::string_view value);

    // Writes e to the power of what write() writes. PostgreSQL's exp is an error where a double overflows. Not every
    // database has greatest and least: elsewhere a subquery names the argument, so that it is written once.
    template <class Write>
    void exponential(const Write& write) {
        *this << (is_ansi_
                      ? "(SELECT exp(CASE WHEN s1 < -700 THEN -700 WHEN s1 > 700 THEN 700 ELSE s1 END) FROM (SELECT "
                      : "exp(greatest(-700, least(700, ");
        write();
        if (is_ansi_)
            *this << " AS s1" << one_row << ") AS scores)";
        else
            *this << ")))";
    }

    static constexpr char one_row[] = " FROM (SELECT 0 AS btml_zero) AS btml_row"; // for databases that need a FROM

  private:
    template <class Write>
    SqlText& cast(const Write& write, const char* type) {
        if (is_ansi_) *this << "CAST(";
        write();
        return *this << (is_ansi_ ? " AS " : "::") << type << (is_ansi_ ? ")" : "");
    }
    // Writes those characters twice.
    void doubling(std::string_view text, std::string_view characters);

    const bool is_ansi_, sums_floats_;
    TextBuilder text_;
};

// Writes a feature's value as a double: dates and times as seconds since 1970. Error not_supported for a type that the
// dialect has no number for.
void write_number(const Feature& feature, SqlText& sql);
// Writes whether a feature is one of these of its categories.
void write_in_categories(const Feature& feature, std::span<const uint32_t> codes, SqlText& sql);

} // namespace btml
