#include "core/boosting/trees/to_sql.hpp"

#include "core/boosting/trees/missing_values.hpp"

#include <cmath>
#include <limits>

namespace btml::boosting {

namespace {

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
        sql.value(feature) << " IS NOT NULL";
        return;
    }
    write_number(feature, sql);
    sql << " < " << rule.threshold;
}

void write_condition(const SplitRule& rule, const Feature& feature, Missing missing, SqlText& sql) {
    if (rule.null_left) sql.value(feature) << " IS NULL";
    write_missing(rule, feature, missing, sql);
    const bool only_null = rule.threshold == -std::numeric_limits<double>::infinity(); // nothing is less
    if (feature.categorical ? rule.categories.empty() : only_null && sql.is_ansi()) {
        if (!rule.null_left) sql << (sql.is_ansi() ? "1 = 0" : "false");
        return;
    }
    if (rule.null_left) sql << " OR ";
    if (feature.categorical)
        write_in_categories(feature, rule.categories, sql);
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

void write_exponential(const Model& model, size_t score, const char* sign, SqlText& sql) {
    const bool steep = model.imported && model.imported->steepness != 1;
    sql.exponential([&] {
        sql << sign;
        if (steep) sql << model.imported->steepness << " * ";
        if (steep || *sign) sql << "(";
        write_score(model, score, sql);
        if (steep || *sign) sql << ")";
    });
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
    sql << (sql.is_ansi() ? SqlText::one_row : " OFFSET 0") << ") AS scores";
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
    SqlText sql(form.dialect, context, model.imported && model.imported->single_precision);
    write(model, form, sql);
    return sql.take();
}

} // namespace btml::boosting
