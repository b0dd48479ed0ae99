#include "core/boosting/trees/to_sql.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace btml::boosting::test {
namespace {

std::string to_sql(const Model& model, const SqlForm& form = {}) {
    QuietContext context;
    const Buffer<char> sql = boosting::to_sql(model, context, form);
    return {sql.begin(), sql.end()};
}

Model model_of(Feature feature, Node root) {
    Model model;
    model.bases[0] = 0.1;
    model.features = {std::move(feature)};
    Node left, right;
    root.left = 1;
    root.right = 2;
    root.feature = 0;
    left.value = -1.5;
    right.value = 2;
    model.trees = {{root, left, right}};
    return model;
}

std::string sql_of(Feature feature, Node root) {
    const std::string sql = to_sql(model_of(std::move(feature), root));
    const std::string head = "0.10000000000000001::float8\n + CASE WHEN ",
                      tail = " THEN -1.5::float8 ELSE 2::float8 END";
    EXPECT_TRUE(sql.starts_with(head) && sql.ends_with(tail)) << sql;
    return sql.substr(head.size(), sql.size() - head.size() - tail.size());
}

std::string numeric(const char* type, double threshold, bool null_left = false) {
    Node node;
    node.threshold = threshold;
    node.null_left = null_left;
    return sql_of({"x", type, false, {}}, node);
}

TEST(ToSql, Numbers) {
    EXPECT_EQ(numeric("integer", 2.5), R"("x"::float8 < 2.5::float8)");
    EXPECT_EQ(numeric("numeric(10,2)", 1e300, true), R"("x" IS NULL OR "x"::float8 < 1.0000000000000001e+300::float8)");
    EXPECT_EQ(numeric("real", std::nan("")), R"("x"::float8 < 'NaN'::float8)");
    EXPECT_EQ(numeric("real", std::numeric_limits<double>::infinity()), R"("x"::float8 < 'Infinity'::float8)");
    EXPECT_EQ(numeric("real", -std::numeric_limits<double>::infinity(), true),
              R"("x" IS NULL OR "x"::float8 < '-Infinity'::float8)");
}

TEST(ToSql, ElementsOfArrays) {
    const Feature element{"e \"f\"[3]", "real[]", false, {}, 3};
    Node node;
    node.threshold = 0.5;
    node.null_left = true;
    EXPECT_EQ(sql_of(element, node),
              R"(("e ""f"""::real[])[3] IS NULL OR ("e ""f"""::real[])[3]::float8 < 0.5::float8)");
    const std::string ansi = to_sql(model_of(element, node), {SqlDialect::ansi});
    EXPECT_NE(ansi.find(R"("e ""f"""[3] IS NULL OR CAST("e ""f"""[3] AS DOUBLE PRECISION) < )"), std::string::npos)
        << ansi;
}

TEST(ToSql, TimesAreSeconds) {
    for (const char* type : {"interval", "time without time zone", "interval(2)"})
        EXPECT_EQ(numeric(type, 7), R"(extract(epoch from "x")::float8 < 7::float8)");
    const std::pair<const char*, const char*> points[] = {{"date", "date"},
                                                          {"timestamp without time zone", "timestamp"},
                                                          {"timestamp(3) with time zone", "timestamptz"},
                                                          {"timestamptz", "timestamptz"}};
    for (const auto& [type, cast] : points)
        EXPECT_EQ(numeric(type, 7), format(R"(extract(epoch from "x"::%s)::float8 < 7::float8)", cast));
    EXPECT_EQ(numeric("timestamped", 7), R"("x"::float8 < 7::float8)");
}

std::string category(std::vector<std::string> labels, std::vector<uint32_t> codes, bool null_left = false,
                     const char* type = "text") {
    Node node;
    node.categories = std::move(codes);
    node.null_left = null_left;
    return sql_of({"a\"b", type, true, std::move(labels)}, node);
}

TEST(ToSql, Categories) {
    EXPECT_EQ(category({"a", "it's", "z"}, {0, 1}), R"("a""b"::text COLLATE "C" IN ('a', 'it''s'))");
    EXPECT_EQ(category({"a\\'"}, {0}, true), R"("a""b" IS NULL OR "a""b"::text COLLATE "C" IN (E'a\\'''))");
    EXPECT_EQ(category({"a"}, {}), "false");
    EXPECT_EQ(category({"1", "2.5"}, {1}, false, "numeric"), R"("a""b"::numeric IN ('2.5'))");
    EXPECT_EQ(category({"2024-01-30 12:00:00+00"}, {0}, false, "timestamp with time zone"),
              R"("a""b"::timestamptz IN ('2024-01-30 12:00:00+00'))");
    EXPECT_EQ(category({"10.0.0.1/32"}, {0}, false, "inet"), R"("a""b"::text COLLATE "C" IN ('10.0.0.1/32'))");
    EXPECT_EQ(category({"a"}, {}, true), R"("a""b" IS NULL)");
}

TEST(ToSql, TreesInOrder) {
    Model model;
    model.bases[0] = 1;
    Node leaf;
    leaf.value = 0.5;
    model.trees = {{leaf}, {leaf}};
    EXPECT_EQ(to_sql(model), "1::float8\n + 0.5::float8\n + 0.5::float8");
}

constexpr SqlForm ansi{SqlDialect::ansi};

TEST(ToSql, StandardSql) {
    Node node;
    node.threshold = 2.5;
    EXPECT_EQ(to_sql(model_of({"x", "integer", false, {}}, node), ansi),
              "CAST(0.10000000000000001 AS DOUBLE PRECISION)\n + CASE WHEN CAST(\"x\" AS DOUBLE PRECISION) < "
              "CAST(2.5 AS DOUBLE PRECISION) THEN CAST(-1.5 AS DOUBLE PRECISION) ELSE CAST(2 AS DOUBLE PRECISION) END");
    EXPECT_THROW(to_sql(model_of({"x", "date", false, {}}, node), ansi), Error);
    node.threshold = std::numeric_limits<double>::infinity();
    EXPECT_THROW(to_sql(model_of({"x", "real", false, {}}, node), ansi), Error);
    node.categories = {0, 1};
    const std::string sql = to_sql(model_of({"x", "text", true, {"a\\'", "abcd"}}, node), ansi);
    EXPECT_NE(sql.find(R"(CAST("x" AS VARCHAR(5)) IN ('a\''', 'abcd'))"), std::string::npos) << sql;
    node.categories.clear();
    EXPECT_NE(to_sql(model_of({"x", "text", true, {"a"}}, node), ansi).find("CASE WHEN 1 = 0 THEN"), std::string::npos);
}

TEST(ToSql, Links) {
    Model model;
    model.bases[0] = 2;
    model.features = {{"e", "integer", false, {}}};
    model.offset = 0;
    model.options.objective = ObjectiveNumber::poisson;
    EXPECT_EQ(to_sql(model), R"(exp(greatest(-700, least(700, 2::float8 + "e"::float8))))");
    model.offset.reset();
    model.options.objective = ObjectiveNumber::binary;
    model.labels = {"no", "yes"};
    EXPECT_EQ(to_sql(model), "1 / (1 + exp(greatest(-700, least(700, -(2::float8)))))");
    EXPECT_EQ(to_sql(model, {SqlDialect::postgresql, 1}), to_sql(model));
    EXPECT_EQ(to_sql(model, {SqlDialect::postgresql, 0}), "1 / (1 + exp(greatest(-700, least(700, 2::float8))))");
}

TEST(ToSql, ImportedModels) {
    Node node;
    node.threshold = 2.5;
    node.null_left = true;
    Model model = model_of({"x", "double precision", false, {}}, node);
    model.imported = Import{"LightGBM v4", "regression"};
    const auto condition = [&] {
        const std::string sql = to_sql(model);
        const size_t begin = sql.find("WHEN ") + 5;
        return sql.substr(begin, sql.find(" THEN") - begin);
    };
    EXPECT_EQ(condition(), R"("x" IS NULL OR "x"::float8 = 'NaN' OR "x"::float8 < 2.5::float8)");
    EXPECT_EQ(to_sql(model, ansi).find("NaN"), std::string::npos);
    model.trees[0][0].null_left = false;
    EXPECT_EQ(condition(), R"("x"::float8 < 2.5::float8)");
    model.imported->zero_is_missing = {1};
    const std::string zero = "\"x\"::float8 BETWEEN -1.0000000180025095e-35::float8 AND 1.0000000180025095e-35::float8";
    EXPECT_EQ(condition(), "NOT " + zero + R"( AND "x"::float8 < 2.5::float8)");
    model.trees[0][0].null_left = true;
    EXPECT_EQ(condition(), R"("x" IS NULL OR "x"::float8 = 'NaN' OR )" + zero + R"( OR "x"::float8 < 2.5::float8)");
    model.features[0].type = "boolean";
    EXPECT_NE(condition().find(R"("x"::integer::float8 < 2.5)"), std::string::npos);
}

TEST(ToSql, ScoresOfImportedModels) {
    Model model;
    Node leaf;
    leaf.value = 0.5;
    model.bases = {1};
    model.trees = {{leaf}, {leaf}};
    model.imported = Import{"", ""};
    model.imported->averages = true;
    EXPECT_EQ(to_sql(model), "(1::float8\n + 0.5::float8\n + 0.5::float8) / 2");
    model.imported->averages = false;
    model.imported->single_precision = true;
    EXPECT_EQ(to_sql(model), "('1'::float4\n + '0.5'::float4\n + '0.5'::float4)::float8");
    EXPECT_EQ(to_sql(model, ansi),
              "CAST((CAST('1' AS REAL)\n + CAST('0.5' AS REAL)\n + CAST('0.5' AS REAL)) AS DOUBLE PRECISION)");
    model.imported->single_precision = false;
    model.imported->link = Link::logistic;
    model.imported->steepness = 0.25;
    model.trees.clear();
    EXPECT_EQ(to_sql(model), "1 / (1 + exp(greatest(-700, least(700, -0.25::float8 * (1::float8)))))");
    EXPECT_EQ(to_sql(model, ansi).substr(0, 80),
              "1 / (1 + (SELECT exp(CASE WHEN s1 < -700 THEN -700 WHEN s1 > 700 THEN 700 ELSE s");
    model.imported->link = Link::signed_square;
    EXPECT_EQ(to_sql(model), "(SELECT s1 * abs(s1) FROM (SELECT 1::float8 AS s1 OFFSET 0) AS scores)");
}

TEST(ToSql, DeepTreesNeedNoDeepStack) {
    Model model;
    model.features = {{"x", "integer", false, {}}};
    Tree tree(400001);
    for (int i = 0; i < 400000; i += 2) {
        Node& node = tree[static_cast<size_t>(i)];
        node.left = i + 1;
        node.right = i + 2;
        node.feature = 0;
    }
    model.trees = {tree};
    EXPECT_GT(to_sql(model).size(), 1000000u);
}

} // namespace
} // namespace btml::boosting::test
