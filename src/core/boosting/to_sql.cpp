#include "core/boosting/to_sql.hpp"

#include <cmath>
#include <string_view>

namespace btml::boosting {

namespace {

std::string number(double x) {
    if (std::isnan(x)) return "'NaN'::float8";
    if (std::isinf(x)) return x > 0 ? "'Infinity'::float8" : "'-Infinity'::float8";
    return format("%.17g::float8", x);
}

std::string identifier(std::string_view name) {
    std::string quoted = "\"";
    for (const char c : name) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

// An E'' string wherever there is a backslash: its meaning does not depend on standard_conforming_strings.
std::string text(std::string_view value) {
    std::string quoted = value.find('\\') == std::string_view::npos ? "'" : "E'";
    for (const char c : value) {
        if (c == '\'' || c == '\\') quoted += c;
        quoted += c;
    }
    return quoted + '\'';
}

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

std::string condition(const Node& node, const Feature& feature) {
    const std::string column = identifier(feature.name);
    const std::string is_null = column + " IS NULL";
    if (!feature.categorical) {
        const std::string value =
            is_time(feature.type) ? "extract(epoch from " + column + ")::float8" : column + "::float8";
        return (node.null_left ? is_null + " OR " : "") + value + " < " + number(node.threshold);
    }
    if (node.categories.empty()) return node.null_left ? is_null : "false";
    std::string list;
    for (const uint32_t code : node.categories) {
        if (!list.empty()) list += ", ";
        list += text(feature.categories[code]);
    }
    return (node.null_left ? is_null + " OR " : "") + column + "::text COLLATE \"C\" IN (" + list + ")";
}

// Depth first with a stack of our own: the depth of a tree is not bounded.
void write(const Tree& tree, const std::vector<Feature>& features, std::string& sql) {
    struct Step {
        int32_t node;     // −1: only the text
        const char* text; // to be written before the node
    };
    std::vector<Step> steps{{0, ""}};
    while (!steps.empty()) {
        const Step step = steps.back();
        steps.pop_back();
        sql += step.text;
        if (step.node < 0) continue;
        const Node& node = tree[static_cast<size_t>(step.node)];
        if (node.is_leaf()) {
            sql += number(node.value);
            continue;
        }
        sql += "CASE WHEN " + condition(node, features[static_cast<size_t>(node.feature)]);
        steps.push_back({-1, " END"});
        steps.push_back({node.right, " ELSE "});
        steps.push_back({node.left, " THEN "});
    }
}

} // namespace

std::string to_sql(const Model& model) {
    std::string sql = number(model.base);
    for (const Tree& tree : model.trees) {
        sql += "\n + ";
        write(tree, model.features, sql);
    }
    return sql;
}

} // namespace btml::boosting
