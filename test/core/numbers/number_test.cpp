#include "core/numbers/number.hpp"
#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace btml {
namespace {

TEST(Number, NullIsOneNaNOfItsOwn) {
    EXPECT_TRUE(is_null(null_number));
    EXPECT_TRUE(std::isnan(null_number));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (double x : {0.0, -0.0, 1.0, nan, -nan, std::numeric_limits<double>::infinity()}) EXPECT_FALSE(is_null(x));
    EXPECT_FALSE(is_null(from_sql(null_number))); // SQL data cannot spell NULL
    EXPECT_TRUE(std::isnan(from_sql(null_number)));
    EXPECT_EQ(from_sql(-2.5), -2.5);
    EXPECT_TRUE(std::signbit(from_sql(-0.0)));
}

TEST(Number, OrderIsThatOfSql) {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const double ascending[] = {-inf, -1, 0, 1e-300, 2, inf, nan};
    for (size_t i = 0; i < 7; i++)
        for (size_t j = 0; j < 7; j++) EXPECT_EQ(sql_less(ascending[i], ascending[j]), i < j);
    EXPECT_FALSE(sql_less(-0.0, 0.0));
}

TEST(Random, IsAPureFunctionOfItsArguments) {
    static_assert(random_bits(1, 2, 3) == random_bits(1, 2, 3));
    EXPECT_EQ(mix64(0), 0xe220a8397b1dcdafULL); // SplitMix64's first output from seed 0
    std::set<uint64_t> values;
    for (uint64_t seed = 0; seed < 10; seed++)
        for (uint64_t stream = 0; stream < 10; stream++)
            for (uint64_t counter = 0; counter < 100; counter++) values.insert(random_bits(seed, stream, counter));
    EXPECT_EQ(values.size(), 10'000U);
}

TEST(Random, EveryBitIsFair) {
    constexpr int draws = 100'000;
    int ones[64] = {};
    double sum = 0;
    for (uint64_t i = 0; i < draws; i++) {
        const uint64_t bits = random_bits(42, 7, i);
        for (int bit = 0; bit < 64; bit++) ones[bit] += (bits >> bit) & 1;
        const double unit = random_unit(42, 7, i);
        ASSERT_GE(unit, 0);
        ASSERT_LT(unit, 1);
        sum += unit;
    }
    for (int count : ones) EXPECT_NEAR(count, draws / 2, 5 * std::sqrt(draws) / 2); // five standard deviations
    EXPECT_NEAR(sum / draws, 0.5, 5 * std::sqrt(1.0 / 12 / draws));
}

} // namespace
} // namespace btml
