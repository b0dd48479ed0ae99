#include "core/explanation/feature_effects.hpp"
#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace btml::explanation::test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> grid(const std::vector<double>& values, bool categorical, size_t points) {
    QuietContext quiet;
    std::vector<double> found;
    for (const size_t row : grid_rows(values, categorical, points, quiet)) found.push_back(values[row]);
    return found;
}

TEST(Grid, HasQuantilesOfNumbers) {
    std::vector<double> values(101);
    std::iota(values.begin(), values.end(), 0.0);
    std::reverse(values.begin(), values.end());
    EXPECT_EQ(grid(values, false, 5), (std::vector<double>{0, 25, 50, 75, 100}));
    EXPECT_EQ(grid(values, false, 1), std::vector<double>{50});
    EXPECT_EQ(grid(values, false, 10'000).size(), 101u);
    EXPECT_EQ(grid({7, 7, 7}, false, 5), std::vector<double>{7});
    EXPECT_EQ(grid({3, infinity, -infinity, 3}, false, 20), (std::vector<double>{-infinity, 3, infinity}));
    EXPECT_TRUE(grid({}, false, 5).empty());
}

TEST(Grid, HasNaNLastAndThenNull) {
    const std::vector<double> found = grid({null_number, nan, 1, null_number, infinity}, false, 3);
    ASSERT_EQ(found.size(), 4u);
    EXPECT_EQ(found[0], 1);
    EXPECT_EQ(found[1], infinity);
    EXPECT_TRUE(std::isnan(found[2]) && !is_null(found[2]));
    EXPECT_TRUE(is_null(found[3]));
    EXPECT_EQ(grid({null_number, null_number}, false, 3).size(), 1u);
}

TEST(Grid, HasTheMostFrequentCategoriesInTheirOrder) {
    const std::vector<double> values = {4, 0, 2, 2, 1, 4, 4, 0, null_number};
    EXPECT_EQ(grid({values.begin(), values.end() - 1}, true, 2), (std::vector<double>{0, 4}));
    EXPECT_EQ(grid({values.begin(), values.end() - 1}, true, 10), (std::vector<double>{0, 1, 2, 4}));
    EXPECT_EQ(grid(values, true, 1).size(), 2u);
}

TEST(Summary, HasMeanErrorAndQuantiles) {
    QuietContext quiet;
    for (uint64_t seed = 0; seed < 20; seed++) {
        std::vector<double> values;
        for (uint64_t i = 0; i < 2 + 13 * seed; i++) values.push_back(100 + random_unit(seed, 1, i));
        const auto n = static_cast<double>(values.size());
        const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
        double squares = 0;
        for (const double x : values) squares += (x - mean) * (x - mean);
        const Dependence found = summarise(values, 0.75, quiet);
        EXPECT_NEAR(found.mean, mean, 1e-11);
        EXPECT_NEAR(found.std_error.value(), std::sqrt(squares / (n - 1) / n * 0.75), 1e-11);
        EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
        EXPECT_LE(found.p10, found.p90);
    }
    std::vector<double> eleven = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, two = {4, 2}, one = {3};
    EXPECT_EQ(summarise(eleven, 0, quiet).p10, 1);
    EXPECT_EQ(summarise(eleven, 0, quiet).p90, 9);
    EXPECT_NEAR(summarise(two, 0, quiet).p10, 2.2, 1e-15);
    EXPECT_EQ(summarise(two, 0, quiet).std_error, 0);
    EXPECT_EQ(summarise(one, 0, quiet).p90, 3);
    EXPECT_EQ(summarise(one, 0, quiet).std_error, 0);
    EXPECT_FALSE(summarise(one, 0.5, quiet).std_error);
}

TEST(Summary, HasNaNLast) {
    QuietContext quiet;
    std::vector<double> values;
    for (int i = 0; i < 1000; i++) values.push_back(i % 3 == 0 ? nan : 1000 - i);
    EXPECT_TRUE(std::isnan(summarise(values, 0, quiet).p90));
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end(), sql_less));
    EXPECT_EQ(values.front(), 2);
    EXPECT_TRUE(std::isnan(values.back()));
}

} // namespace
} // namespace btml::explanation::test
