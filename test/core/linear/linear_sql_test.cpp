#include "linear_data.hpp"

#include "core/linear/linear_sql.hpp"

namespace btml::linear::test {
namespace {

using btml::test::caught;

std::string sql_of(const Model& model, const SqlForm& form = {}) {
    QuietContext context;
    const Buffer<char> text = to_sql(model, context, form);
    return {text.begin(), text.end()};
}

// A number that may be missing, one without a coefficient, a boolean, and a category.
Model small_model(Family family) {
    Model model;
    model.options.family = family;
    model.features = {{"x \"1\"", "integer", false, {}},
                      {"dropped", "integer", false, {}},
                      {"flag", "boolean", false, {}},
                      {"kind", "text", true, {"a", "it's", "c"}}};
    model.centre = 10;
    const auto add = [&](uint32_t feature, ColumnKind kind, uint32_t category, double mean, double estimate) {
        model.columns.push_back({feature, kind, category, ColumnState::kept, mean, 1, estimate, 0});
    };
    add(0, ColumnKind::number, 0, 3, 0.5);
    add(0, ColumnKind::missing, 0, 0.25, 2);
    model.columns.push_back({1, ColumnKind::number, 0, ColumnState::dependent, 1, 1, 0, 0});
    add(2, ColumnKind::number, 0, 0.5, -1);
    add(3, ColumnKind::category, 1, 0.25, 4);
    add(3, ColumnKind::category, 2, 0.5, -2);
    return model;
}

const std::string score = "10::float8\n"
                          " + CASE WHEN \"x \"\"1\"\"\" IS NULL THEN 1.5::float8 ELSE -0.5::float8 + 0.5::float8 * "
                          "(\"x \"\"1\"\"\"::float8 - 3::float8) END\n"
                          " + CASE WHEN \"flag\" IS NULL THEN 0::float8 ELSE -1::float8 * (\"flag\"::integer::float8 - "
                          "0.5::float8) END\n"
                          " + CASE WHEN \"kind\"::text COLLATE \"C\" IN ('it''s') THEN 4::float8 WHEN "
                          "\"kind\"::text COLLATE \"C\" IN ('c') THEN -2::float8 ELSE 0::float8 END";

TEST(LinearSql, WritesTheScore) {
    EXPECT_EQ(sql_of(small_model(Family::gaussian)), score);
    EXPECT_EQ(sql_of(small_model(Family::poisson)), "exp(greatest(-700, least(700, " + score + ")))");
    EXPECT_EQ(sql_of(small_model(Family::gamma)), "exp(greatest(-700, least(700, " + score + ")))");
}

TEST(LinearSql, WritesProbabilities) {
    const Model model = small_model(Family::binomial);
    const std::string second = "1 / (1 + exp(greatest(-700, least(700, -(" + score + ")))))";
    EXPECT_EQ(sql_of(model), second);
    EXPECT_EQ(sql_of(model, {SqlDialect::postgresql, 1}), second);
    EXPECT_EQ(sql_of(model, {SqlDialect::postgresql, 0}), "1 / (1 + exp(greatest(-700, least(700, " + score + "))))");
}

TEST(LinearSql, WritesTheStandard) {
    Model model = small_model(Family::gaussian);
    const std::string sql = sql_of(model, {SqlDialect::ansi});
    EXPECT_EQ(sql.find("::"), std::string::npos);
    EXPECT_NE(sql.find("CAST(\"kind\" AS VARCHAR(5)) IN ('it''s')"), std::string::npos);
    model.features[0].type = "date";
    EXPECT_EQ(caught([&] { sql_of(model, {SqlDialect::ansi}); }).code, ErrorCode::not_supported);
}

} // namespace
} // namespace btml::linear::test
