#include "core/boosting/trees/to_sql.hpp"

#include "core/base/text_builder.hpp"
#include "core/boosting/trees/missing_values.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace btml::boosting {

namespace {

class SqlText {
  public:
    SqlText(const Model& model, SqlDialect dialect, RunContext& context)
        : is_ansi_(dialect == SqlDialect::ansi),
          sums_floats_(model.imported && model.imported->single_precision),
          text_(context, "the SQL of a model") {}

    bool is_ansi() const { return is_ansi_; }
    Buffer<char> take() { return text_.take(); }

    template <class Piece>
    SqlText& operator<<(const Piece& piece) {
        text_ << piece;
        return *this;
    }
    SqlText& operator<<(double x) {
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
    // What write() writes, as a double.
    template <class Write>
    SqlText& number(const Write& write) {
        return cast(write, is_ansi_ ? "DOUBLE PRECISION" : "float8");
    }
    template <class Write>
    SqlText& integer(const Write& write) {
        return cast(write, "integer");
    }
    // A term of a score.
    SqlText& term(double x) {
        if (!sums_floats_) return *this << x;
        std::array<char, 32> digits;
        const auto end = std::to_chars(digits.begin(), digits.end(), static_cast<float>(x)).ptr;
        return cast([&] { *this << "'" << std::string_view(digits.begin(), end) << "'"; },
                    is_ansi_ ? "REAL" : "float4");
    }
    // A score of what write() writes.
    template <class Write>
    SqlText& sum(const Write& write) {
        return sums_floats_ ? number([&] { *this << "(", write(), *this << ")"; }) : (write(), *this);
    }
    // A difference of two scores, as softmax takes it; of PostgreSQL's dialect.
    template <class Write>
    SqlText& difference(const Write& write) {
        return sums_floats_ ? cast(write, "float4") : (write(), *this);
    }
    SqlText& identifier(std::string_view name) {
        *this << "\"";
        doubling(name, "\"");
        return *this << "\"";
    }
    // An E'' string wherever there is a backslash: its meaning does not depend on standard_conforming_strings.
    SqlText& literal(std::string_view value) {
        if (is_ansi_) {
            *this << "'";
            doubling(value, "'");
            return *this << "'";
        }
        *this << (value.find('\\') == std::string_view::npos ? "'" : "E'");
        doubling(value, "'\\");
        return *this << "'";
    }

  private:
    template <class Write>
    SqlText& cast(const Write& write, const char* type) {
        if (is_ansi_) *this << "CAST(";
        write();
        return *this << (is_ansi_ ? " AS " : "::") << type << (is_ansi_ ? ")" : "");
    }
    // Writes those characters twice.
    void doubling(std::string_view text, std::string_view characters) {
        for (size_t at = text.find_first_of(characters); at != std::string_view::npos;
             at = text.find_first_of(characters)) {
            *this << text.substr(0, at + 1) << text.substr(at, 1);
            text.remove_prefix(at + 1);
        }
        *this << text;
    }

    const bool is_ansi_, sums_floats_;
    TextBuilder text_;
};

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

void write_number(const Feature& feature, SqlText& sql) {
    if (feature.type == "boolean") { // which has no cast to a double of its own
        sql.number([&] { sql.integer([&] { sql.identifier(feature.name); }); });
        return;
    }
    if (!is_time(feature.type)) {
        sql.number([&] { sql.identifier(feature.name); });
        return;
    }
    if (sql.is_ansi())
        throw Error(
            ErrorCode::not_supported,
            format("ANSI SQL has no number for feature \"%s\" of type %s", feature.name.c_str(), feature.type.c_str()),
            "It has no seconds since 1970.", "Use the dialect \"postgresql\", or train on numbers made of it.");
    (sql << "extract(epoch from ").identifier(feature.name);
    if (const std::string_view type = point_in_time(feature.type); !type.empty()) sql << "::" << type;
    sql << ")::float8";
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
void write_category(const Feature& feature, const SplitRule& rule, SqlText& sql) {
    if (!sql.is_ansi()) {
        const std::string_view type = compared_type(feature.type);
        sql.identifier(feature.name) << "::" << (type.empty() ? "text COLLATE \"C\"" : type);
        return;
    }
    size_t longest = 0;
    for (const uint32_t code : rule.categories) longest = std::max(longest, feature.categories[code].size());
    (sql << "CAST(").identifier(feature.name) << " AS VARCHAR(" << longest + 1 << "))";
}

// What is taken for missing beside NULL.
struct Missing {
    bool nan, zero;
};

// A comparison is false for NULL, and for NaN, which is no less than any number.
void write_missing(const SplitRule& rule, const Feature& feature, Missing missing, SqlText& sql) {
    if (rule.null_left && missing.nan && !feature.categorical && !sql.is_ansi()) {
        sql << " OR ";
        write_number(feature, sql);
        sql << " = 'NaN'";
    }
    if (!missing.zero) return;
    sql << (rule.null_left ? " OR " : "NOT ");
    write_number(feature, sql);
    sql << " BETWEEN " << -max_zero << " AND " << max_zero << (rule.null_left ? "" : " AND ");
}

// Where there is no NaN, every number is less than it.
void write_less(const SplitRule& rule, const Feature& feature, SqlText& sql) {
    if (sql.is_ansi() && std::isnan(rule.threshold)) {
        sql.identifier(feature.name) << " IS NOT NULL";
        return;
    }
    write_number(feature, sql);
    sql << " < " << rule.threshold;
}

// Servers write numbers with a fraction in ways of their own, so such categories are compared as numbers.
bool has_fractions(const Feature& feature) {
    return is_type(feature.type, "double precision") || is_type(feature.type, "real") ||
           is_type(feature.type, "numeric");
}

void write_in_categories(const SplitRule& rule, const Feature& feature, SqlText& sql) {
    const bool as_numbers = sql.is_ansi() && has_fractions(feature);
    if (as_numbers)
        write_number(feature, sql);
    else
        write_category(feature, rule, sql);
    sql << " IN (";
    const char* separator = "";
    for (const uint32_t code : rule.categories) {
        sql << separator;
        if (as_numbers)
            sql << std::strtod(feature.categories[code].c_str(), nullptr);
        else
            sql.literal(feature.categories[code]);
        separator = ", ";
    }
    sql << ")";
}

void write_condition(const SplitRule& rule, const Feature& feature, Missing missing, SqlText& sql) {
    if (rule.null_left) sql.identifier(feature.name) << " IS NULL";
    write_missing(rule, feature, missing, sql);
    const bool only_null = rule.threshold == -std::numeric_limits<double>::infinity(); // nothing is less
    if (feature.categorical ? rule.categories.empty() : only_null && sql.is_ansi()) {
        if (!rule.null_left) sql << (sql.is_ansi() ? "1 = 0" : "false");
        return;
    }
    if (rule.null_left) sql << " OR ";
    if (feature.categorical)
        write_in_categories(rule, feature, sql);
    else
        write_less(rule, feature, sql);
}

Missing missing_of(const Model& model, int32_t feature) {
    if (!model.imported) return {false, false};
    const std::vector<uint8_t>& zeros = model.imported->zero_is_missing;
    return {true, !zeros.empty() && zeros[static_cast<size_t>(feature)]};
}

// Depth first with a stack of our own: the depth of a tree is not bounded.
void write(const Tree& tree, const Model& model, SqlText& sql) {
    struct Step {
        int32_t node;     // −1: only the text
        const char* text; // to be written before the node
    };
    std::vector<Step> steps{{0, ""}};
    while (!steps.empty()) {
        const Step step = steps.back();
        steps.pop_back();
        sql << step.text;
        if (step.node < 0) continue;
        const Node& node = tree[step.node];
        if (node.is_leaf()) {
            sql.term(node.value);
            continue;
        }
        sql << "CASE WHEN ";
        write_condition(node.rule(model.features), model.features[node.feature], missing_of(model, node.feature), sql);
        steps.push_back({-1, " END"});
        steps.push_back({node.right, " ELSE "});
        steps.push_back({node.left, " THEN "});
    }
}

void write_sum(const Model& model, size_t score, SqlText& sql) {
    sql.term(model.bases[score]);
    if (model.offset) {
        sql << " + ";
        write_number(model.features[*model.offset], sql);
    }
    for (size_t t = score; t < model.trees.size(); t += model.scores()) {
        sql << "\n + ";
        write(model.trees[t], model, sql);
    }
}

void write_score(const Model& model, size_t score, SqlText& sql) {
    const bool averages = model.imported && model.imported->averages && !model.trees.empty();
    if (averages) sql << "(";
    sql.sum([&] { write_sum(model, score, sql); });
    if (averages) sql << ") / " << model.iterations();
}

constexpr char one_row[] = " FROM (SELECT 0 AS btml_zero) AS btml_row"; // for databases that need a FROM

// PostgreSQL's exp is an error where a double overflows. Not every database has greatest and least: elsewhere a
// subquery names the argument, so that it is written once.
void write_exponential(const Model& model, size_t score, const char* sign, SqlText& sql) {
    const bool steep = model.imported && model.imported->steepness != 1;
    sql << (sql.is_ansi()
                ? "(SELECT exp(CASE WHEN s1 < -700 THEN -700 WHEN s1 > 700 THEN 700 ELSE s1 END) FROM (SELECT "
                : "exp(greatest(-700, least(700, ")
        << sign;
    if (steep) sql << model.imported->steepness << " * ";
    if (steep || *sign) sql << "(";
    write_score(model, score, sql);
    if (steep || *sign) sql << ")";
    if (sql.is_ansi())
        sql << " AS s1" << one_row << ") AS scores)";
    else
        sql << ")))";
}

void write_logistic(const Model& model, size_t score, const char* sign, SqlText& sql) {
    sql << "1 / (1 + ";
    write_exponential(model, score, sign, sql);
    sql << ")";
}

// Every label's, or one's.
void write_one_vs_all(const Model& model, std::optional<size_t> label, SqlText& sql) {
    if (label) return write_logistic(model, *label, "-", sql);
    sql << "ARRAY[";
    for (size_t s = 0; s < model.scores(); s++) {
        if (s > 0) sql << ",\n";
        write_logistic(model, s, "-", sql);
    }
    sql << "]";
}

// Names of a subquery's columns: prefix1, prefix2, …
void write_names(const char* before, const std::string& prefix, const char* after, size_t count, SqlText& sql) {
    for (size_t i = 1; i <= count; i++) sql << (i == 1 ? "" : ", ") << before << prefix << i << after;
}

// The innermost subquery is the only one that refers to features, and has no columns of its own that these could be
// taken for. OFFSET 0 keeps PostgreSQL from writing a score wherever it is used.
void write_scores(const Model& model, SqlText& sql) {
    for (size_t i = 0; i < model.scores(); i++) {
        if (i > 0) sql << ",\n";
        write_score(model, i, sql);
        sql << " AS s" << i + 1;
    }
    sql << (sql.is_ansi() ? one_row : " OFFSET 0") << ") AS scores";
}

// 1 over the sum of the exponentials of what the others have more, in doubles: whether there are floats, and rounding
// to them, is the database's matter.
void write_probability(const Model& model, size_t label, SqlText& sql) {
    const std::string own = "s" + std::to_string(label + 1);
    sql << "(SELECT 1 / (";
    for (size_t i = 1; i <= model.scores(); i++) {
        const std::string more = "s" + std::to_string(i) + " - " + own;
        sql << (i == 1 ? "exp(CASE WHEN " : " + exp(CASE WHEN ") << more << " < -700 THEN -700 WHEN " << more
            << " > 700 THEN 700 ELSE " << more << " END)";
    }
    sql << ") FROM (SELECT ";
    write_scores(model, sql);
    sql << ")";
}

// SELECT exponentials over their sum FROM (exponentials FROM (scores and the largest FROM (scores))).
void write_softmax(const Model& model, std::optional<size_t> label, SqlText& sql) {
    const size_t count = model.scores();
    const char* const fence = sql.is_ansi() ? "" : " OFFSET 0";
    sql << "(SELECT ";
    if (label)
        sql << "e" << *label + 1 << " / total";
    else {
        sql << "ARRAY[";
        for (size_t i = 1; i <= count; i++) sql << (i == 1 ? "e" : ", e") << i << " / total";
        sql << "]";
    }
    sql << "\nFROM (SELECT ";
    write_names("", "e", "", count, sql);
    sql << ", ";
    for (size_t i = 1; i <= count; i++) sql << (i == 1 ? "e" : " + e") << i;
    sql << " AS total FROM (SELECT ";
    for (size_t i = 1; i <= count; i++) {
        const std::string number = std::to_string(i);
        sql << (i == 1 ? "" : ", ") << "exp(";
        sql.difference([&] { sql << "greatest(-700, s" << number << " - largest)"; });
        sql << ") AS e" << number;
    }
    sql << " FROM (SELECT ";
    write_names("", "s", "", count, sql);
    sql << (count == 1 ? ", s1 AS largest" : ", greatest(");
    if (count > 1) {
        write_names("", "s", "", count, sql);
        sql << ") AS largest";
    }
    sql << "\nFROM (SELECT ";
    write_scores(model, sql);
    sql << fence << ") AS scores" << fence << ") AS exponentials" << fence << ") AS exponentials)";
}

// A function of the score s1.
void write_function(const char* function, const Model& model, SqlText& sql) {
    sql << "(SELECT " << function << " FROM (SELECT ";
    write_scores(model, sql);
    sql << ")";
}

// ln(1 + e) is 2·artanh(e / (2 + e)), without rounding e away.
constexpr char softplus_of_score[] = "CASE WHEN s1 > 0 THEN s1 ELSE 0 END + "
                                     "2 * atanh(exp(greatest(-700, -abs(s1))) / (2 + exp(greatest(-700, -abs(s1)))))";

void write(const Model& model, const SqlForm& form, SqlText& sql) {
    switch (model.link()) {
    case Link::identity:
        return write_score(model, 0, sql);
    case Link::exponential:
        return write_exponential(model, 0, "", sql);
    case Link::logistic:
        return write_logistic(model, 0, form.label == size_t{0} ? "" : "-", sql);
    case Link::softmax:
        if (sql.is_ansi() && form.label) return write_probability(model, *form.label, sql);
        return write_softmax(model, form.label, sql);
    case Link::one_vs_all:
        return write_one_vs_all(model, form.label, sql);
    case Link::softplus:
        return write_function(softplus_of_score, model, sql);
    case Link::signed_square:
        return write_function("s1 * abs(s1)", model, sql);
    }
}

} // namespace

Buffer<char> to_sql(const Model& model, RunContext& context, const SqlForm& form) {
    SqlText sql(model, form.dialect, context);
    write(model, form, sql);
    return sql.take();
}

} // namespace btml::boosting
