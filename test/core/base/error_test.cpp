#include "core/base/error.hpp"

#include "caught.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace btml {
namespace {

TEST(Error, CarriesItsParts) {
    const Error error(ErrorCode::wrong_type, "message", "detail", "hint");
    EXPECT_EQ(error.code(), ErrorCode::wrong_type);
    EXPECT_EQ(error.message(), "message");
    EXPECT_EQ(error.detail(), "detail");
    EXPECT_EQ(error.hint(), "hint");
    EXPECT_STREQ(error.what(), "message");
    EXPECT_EQ(Error(ErrorCode::internal, "m").hint(), "");
}

TEST(Error, CancelledIsNoError) {
    test::ImpatientContext context(1);
    context.poll();
    EXPECT_THROW(context.poll(), Cancelled);
    const bool is_exception = std::is_base_of_v<std::exception, Cancelled>;
    EXPECT_FALSE(is_exception);
}

TEST(Shortest, NamesNumbersAsSqlDoes) {
    EXPECT_EQ(shortest(0.1), "0.1");
    EXPECT_EQ(shortest(1e41), "1e+41");
    EXPECT_EQ(shortest(-std::nan("")), "NaN");
    EXPECT_EQ(shortest(INFINITY), "Infinity");
    EXPECT_EQ(shortest(-INFINITY), "-Infinity");
}

TEST(Format, WritesLikePrintf) {
    EXPECT_EQ(format("%d of %s", 3, "five"), "3 of five");
    EXPECT_EQ(format("%s", std::string(10'000, 'x').c_str()), std::string(10'000, 'x'));
    EXPECT_EQ(format("%s", ""), "");
}

TEST(QuotedList, SeparatesByCommas) {
    EXPECT_EQ(quoted_list({}), "");
    EXPECT_EQ(quoted_list({"a"}), "\"a\"");
    EXPECT_EQ(quoted_list({"a", "b c"}), "\"a\", \"b c\"");
}

TEST(NearestName, FindsTheLikelyMisspelling) {
    const std::vector<std::string> names{"learning_rate", "max_leaves", "min_leaf_rows"};
    EXPECT_EQ(nearest_name("learnig_rate", names), "learning_rate");
    EXPECT_EQ(nearest_name("max_leafs", names), "max_leaves");
    EXPECT_EQ(nearest_name("max_leaves", names), "max_leaves");
    EXPECT_EQ(nearest_name("seed", names), "");
    EXPECT_EQ(nearest_name("anything", {}), "");
    EXPECT_EQ(nearest_name("ab", {"ac", "ab"}), "ab");
    EXPECT_EQ(nearest_name("ID", {"is", "id"}), "id"); // names are not folded
    EXPECT_EQ(nearest_name("wieght", {"height", "weight"}), "weight");
    EXPECT_EQ(nearest_name("rpice", {"price"}), "price"); // the first two letters are swapped
}

TEST(NearestName, NamesNothingThatMeansAnotherThing) {
    EXPECT_EQ(nearest_name("x", {"y"}), "");
    EXPECT_EQ(nearest_name("l3", {"l2"}), "");
    EXPECT_EQ(nearest_name("height", {"weight"}), "");
    EXPECT_EQ(nearest_name("subsample", {"sketch_size"}), "");
    EXPECT_EQ(nearest_name("min_rows", {"min_gain"}), "");
    EXPECT_EQ(nearest_name("num_leaves", {"max_leaves"}), "");
}

} // namespace
} // namespace btml
