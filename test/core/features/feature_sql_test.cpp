#include "core/features/feature_sql.hpp"

#include "caught.hpp"
#include "random_plan.hpp"

#include <gtest/gtest.h>

namespace btml::features::test {
namespace {

using btml::test::Caught;
using btml::test::caught;

bool always_reserved(std::string_view) {
    return true;
}
bool never_reserved(std::string_view) {
    return false;
}

const PredictionSource task = {
    .sql = "SELECT * FROM task -- of today", .columns = {"customer", "as_of"}, .as_of = TimeType::timestamp};

std::string sql_of(const Plan& plan, bool (*is_reserved)(std::string_view) = always_reserved,
                   const PredictionSource& source = task) {
    QuietContext context;
    const Buffer<char> sql = feature_sql(plan, source, is_reserved, context);
    return {sql.data(), sql.size()};
}

// Reads SQL as PostgreSQL does: names in quotes become «I», literals «S», comments go. Anything that could open another
// kind of text fails.
class Shape {
  public:
    explicit Shape(std::string_view sql) : sql_(sql) {}

    std::string read() {
        while (at_ < sql_.size()) step();
        return shape_;
    }

  private:
    bool begins(std::string_view text) const { return sql_.substr(at_, text.size()) == text; }

    void step() {
        if (begins("--")) return skip_comment();
        if (begins("E'")) return at_++, skip_quoted('\'', true);
        if (begins("'")) return skip_quoted('\'', false);
        if (begins("\"")) return skip_quoted('"', false);
        EXPECT_FALSE(begins("/*") || begins("$") || begins("\\") || begins(";") || begins("U&"))
            << sql_.substr(at_, 40);
        const auto c = static_cast<unsigned char>(sql_[at_]);
        EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << static_cast<int>(c);
        shape_ += sql_[at_++];
    }

    void skip_comment() {
        while (at_ < sql_.size() && sql_[at_] != '\n' && sql_[at_] != '\r') at_++;
    }

    void skip_quoted(char quote, bool has_escapes) {
        const size_t begin = at_;
        for (at_++;; at_++) {
            ASSERT_LT(at_, sql_.size()) << "what begins at byte " << begin << " has no end";
            // Whatever standard_conforming_strings says.
            EXPECT_TRUE(has_escapes || quote == '"' || sql_[at_] != '\\');
            if (has_escapes && sql_[at_] == '\\')
                at_++;
            else if (sql_[at_] == quote && sql_.substr(at_ + 1, 1) != std::string(1, quote))
                break;
            else if (sql_[at_] == quote)
                at_++;
        }
        at_++;
        shape_ += quote == '"' ? "«I»" : "«S»";
    }

    const std::string_view sql_;
    size_t at_ = 0;
    std::string shape_;
};

std::string shape_of(const std::string& sql) {
    return Shape(sql).read();
}

std::string random_sql(unsigned seed, const std::function<std::string()>& new_name, size_t& features,
                       bool (*is_reserved)(std::string_view) = always_reserved) {
    RandomPlan random(seed, new_name);
    const Plan plan = random.make();
    PredictionSource source = task;
    source.as_of = random.as_of_type();
    features += plan.features.size();
    return sql_of(plan, is_reserved, source);
}

TEST(FeatureSql, QuotesWhateverNamesHold) {
    size_t tame = 0, hostile = 0;
    for (unsigned seed = 0; seed < 400; seed++) {
        SCOPED_TRACE(seed);
        const std::string shape = shape_of(random_sql(seed, numbered_names("n"), tame));
        EXPECT_EQ(shape, shape_of(random_sql(seed, hostile_names(seed), hostile)));
        EXPECT_EQ(tame, hostile);
    }
    EXPECT_GT(tame, 1000U);
}

TEST(FeatureSql, LeavesPlainNamesWithoutQuotes) {
    size_t features = 0;
    for (unsigned seed = 0; seed < 50; seed++) {
        const std::string sql = random_sql(seed, numbered_names("n"), features, never_reserved);
        EXPECT_EQ(sql.find('"'), std::string::npos) << sql;
    }
    EXPECT_GT(features, 100U);
}

// Returns a plan of one relation and a feature of it.
Plan plan_of(const std::string& relation, const std::string& table, const std::string& column,
             const std::string& feature) {
    Plan plan{.as_of = "as_of"};
    plan.relations = {{.name = relation,
                       .schema = "s",
                       .table = table,
                       .key = {{"customer", "customer"}},
                       .time = "at",
                       .time_type = TimeType::timestamp}};
    plan.features = {
        {.name = feature, .relation = 0, .aggregate = Aggregate::mean, .column = column, .window = "30 days"}};
    return plan;
}

TEST(FeatureSql, QuotesNamesThatAreNotPlain) {
    const auto sql_with = [](const std::string& name) {
        return sql_of(plan_of(name, "t", name, name), never_reserved);
    };
    for (const char* const plain : {"call", "_x", "a1", "z_9"})
        EXPECT_EQ(sql_with(plain).find('"'), std::string::npos) << plain;
    for (const char* const odd : {"Call", "1a", "a-b", "a b", "ä", "a.b", "a$b", "\xff"})
        EXPECT_NE(sql_with(odd).find(format("\"%s\".\"%s\"", odd, odd)), std::string::npos) << odd;
    EXPECT_NE(sql_with("a\"b").find(R"("a""b"."a""b")"), std::string::npos);
}

// A source's text may end in a comment, and its columns may be called as the SELECT's own would be.
TEST(FeatureSql, KeepsItsColumnsApartFromTheSources) {
    Plan plan = plan_of("call", "call", "minutes", "mean");
    plan.relations.push_back({.name = "customer", .table = "customer", .key = {{"id", "customer"}}, .unique = true});
    plan.features.push_back({.name = "region", .relation = 1, .aggregate = Aggregate::value, .column = "region"});
    const std::string plain = sql_of(plan, never_reserved);
    EXPECT_NE(plain.find("customer.region AS v1\n"), std::string::npos) << plain;
    EXPECT_NE(plain.find("-- of today\n  ) AS source"), std::string::npos) << plain;
    PredictionSource source = task;
    source.columns = {"customer", "as_of", "v1", "visits", "v_2"};
    const std::string sql = sql_of(plan, never_reserved, source);
    EXPECT_NE(sql.find("prediction.v1, "), std::string::npos) << sql;
    EXPECT_EQ(sql.find("customer.region AS v1\n"), std::string::npos) << sql;
}

TEST(FeatureSql, RefusesNamesThatAreTaken) {
    const Plan plan = plan_of("call", "call", "minutes", "mean");
    PredictionSource source = task;
    source.columns = {"customer", "as_of", "mean"};
    const auto message = [&] { return caught([&] { sql_of(plan, never_reserved, source); }).message; };
    EXPECT_EQ(message(), "source has a column \"mean\", and so have its features");
    source.columns = {"customer", "as_of", "btml_row"};
    EXPECT_EQ(message(), "source has a column \"btml_row\", which the SELECT of features needs");
}

TEST(FeatureSql, RefusesTimesWithAZoneBesideThoseWithout) {
    Plan plan = plan_of("call", "call", "minutes", "mean");
    PredictionSource source = task;
    source.as_of = TimeType::date;
    EXPECT_FALSE(sql_of(plan, never_reserved, source).empty());
    source.as_of = TimeType::timestamptz;
    const auto error = [&] { return caught([&] { sql_of(plan, never_reserved, source); }); };
    EXPECT_EQ(error().code, ErrorCode::wrong_type);
    EXPECT_EQ(error().message,
              "as_of \"as_of\" has type timestamptz, and time \"at\" of relation \"call\" has type timestamp");
    EXPECT_EQ(error().hint, "Cast as_of in the source, as in as_of::timestamp.");
    plan.relations[0].time_type = TimeType::timestamptz;
    EXPECT_FALSE(sql_of(plan, never_reserved, source).empty());
    source.as_of = TimeType::date;
    EXPECT_EQ(error().hint, "Cast as_of in the source, as in as_of::timestamptz.");
}

TEST(FeatureSql, HasAsManyColumnsAsASelect) {
    Plan plan = plan_of("call", "call", "minutes", "f");
    while (task.columns.size() + plan.features.size() < max_columns) {
        plan.features.push_back(plan.features.front());
        plan.features.back().name = format("f%zu", plan.features.size());
    }
    EXPECT_FALSE(sql_of(plan).empty());
    plan.features.push_back(plan.features.front());
    plan.features.back().name = "one more";
    const Caught error = caught([&] { sql_of(plan); });
    EXPECT_EQ(error.code, ErrorCode::limit_exceeded);
    EXPECT_EQ(error.message, "source and features have 1665 columns, a SELECT has at most 1664");
}

// Features that are joined by long chains repeat their conditions, which takes memory long before it is SQL.
TEST(FeatureSql, CountsItsMemory) {
    Plan plan{.as_of = "as_of"};
    const auto key = [](int i) { return std::vector<KeyPair>{{"id", i == 0 ? "customer" : "up"}}; };
    for (int i = 0; i < 300; i++)
        plan.relations.push_back({.name = format("r%d", i),
                                  .table = "t",
                                  .of = i - 1,
                                  .key = key(i),
                                  .time = std::string(200, 'a'),
                                  .time_type = TimeType::date,
                                  .unique = true});
    for (int i = 0; i < 300; i++)
        plan.features.push_back(
            {.name = format("f%d", i), .relation = 299, .aggregate = Aggregate::value, .column = format("c%d", i)});
    plan.check();
    QuietContext little(1, uint64_t{1} << 22);
    const Caught error = caught([&] { feature_sql(plan, task, always_reserved, little); });
    EXPECT_EQ(error.code, ErrorCode::memory_limit);
    QuietContext enough(1, uint64_t{1} << 29);
    {
        const Buffer<char> sql = feature_sql(plan, task, always_reserved, enough);
        EXPECT_GT(sql.size(), uint64_t{1} << 24);
    }
    EXPECT_EQ(enough.memory().used(), 0U);
}

TEST(FeatureSql, CanBeCancelled) {
    const Plan plan = plan_of("call", "call", "minutes", "mean");
    btml::test::ExpiringContext context(100);
    EXPECT_THROW(feature_sql(plan, task, always_reserved, context), Cancelled);
}

} // namespace
} // namespace btml::features::test
