#include "core/boosting/to_sql.hpp"

#include "core/boosting/objectives/objective.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

namespace btml::boosting {

namespace {

// Takes the text; without a place for it, its bytes are counted only.
class SqlText {
  public:
    SqlText(char* text, RunContext& context) : text_(text), context_(context) {}

    uint64_t length() const { return length_; }

    SqlText& operator<<(std::string_view piece) {
        if (text_) std::memcpy(text_ + length_, piece.data(), piece.size());
        length_ += piece.size();
        context_.worked(piece.size());
        return *this;
    }
    SqlText& operator<<(double x) {
        if (std::isnan(x)) return *this << "'NaN'::float8";
        if (std::isinf(x)) return *this << (x > 0 ? "'Infinity'::float8" : "'-Infinity'::float8");
        std::array<char, 32> digits;
        const auto end = std::to_chars(digits.begin(), digits.end(), x, std::chars_format::general, 17).ptr;
        return *this << std::string_view(digits.begin(), end) << "::float8";
    }
    SqlText& identifier(std::string_view name) {
        *this << "\"";
        doubling(name, "\"");
        return *this << "\"";
    }
    // An E'' string wherever there is a backslash: its meaning does not depend on standard_conforming_strings.
    SqlText& literal(std::string_view value) {
        *this << (value.find('\\') == std::string_view::npos ? "'" : "E'");
        doubling(value, "'\\");
        return *this << "'";
    }

  private:
    // Writes those characters twice.
    void doubling(std::string_view text, std::string_view characters) {
        for (size_t at = text.find_first_of(characters); at != std::string_view::npos;
             at = text.find_first_of(characters)) {
            *this << text.substr(0, at + 1) << text.substr(at, 1);
            text.remove_prefix(at + 1);
        }
        *this << text;
    }

    char* const text_;
    RunContext& context_;
    uint64_t length_ = 0;
};

// "timestamp(3) with time zone" is a timestamp; "timestamped" is not.
bool is_type(std::string_view type, std::string_view name) {
    return type.starts_with(name) &&
           (type.size() == name.size() || type[name.size()] == ' ' || type[name.size()] == '(');
}

bool is_time(std::string_view type) {
    for (const std::string_view name : {"date", "timestamp", "timestamptz", "time", "timetz", "interval"})
        if (is_type(type, name)) return true;
    return false;
}

void write_condition(const SplitRule& rule, const Feature& feature, SqlText& sql) {
    if (rule.null_left) sql.identifier(feature.name) << " IS NULL";
    if (!feature.categorical) {
        if (rule.null_left) sql << " OR ";
        if (is_time(feature.type))
            (sql << "extract(epoch from ").identifier(feature.name) << ")::float8";
        else
            sql.identifier(feature.name) << "::float8";
        sql << " < " << rule.threshold;
        return;
    }
    if (rule.categories.empty()) {
        if (!rule.null_left) sql << "false";
        return;
    }
    if (rule.null_left) sql << " OR ";
    sql.identifier(feature.name) << "::text COLLATE \"C\" IN (";
    const char* separator = "";
    for (const uint32_t code : rule.categories) {
        (sql << separator).literal(feature.categories[code]);
        separator = ", ";
    }
    sql << ")";
}

// Depth first with a stack of our own: the depth of a tree is not bounded.
void write(const Tree& tree, const std::vector<Feature>& features, SqlText& sql) {
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
            sql << node.value;
            continue;
        }
        sql << "CASE WHEN ";
        write_condition(node.rule(features), features[node.feature], sql);
        steps.push_back({-1, " END"});
        steps.push_back({node.right, " ELSE "});
        steps.push_back({node.left, " THEN "});
    }
}

void write(const Model& model, SqlText& sql) {
    const auto [before, after] = prediction_sql(objective_of(model.options.objective).link());
    sql << before << model.bases[0];
    for (const Tree& tree : model.trees) {
        sql << "\n + ";
        write(tree, model.features, sql);
    }
    sql << after;
}

} // namespace

uint64_t sql_length(const Model& model, RunContext& context) {
    SqlText sql(nullptr, context);
    write(model, sql);
    return sql.length();
}

void write_sql(const Model& model, char* text, RunContext& context) {
    SqlText sql(text, context);
    write(model, sql);
}

} // namespace btml::boosting
