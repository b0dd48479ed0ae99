#include "core/numbers/usual_range.hpp"

#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace btml {
namespace {

UsualRange range_of(const std::vector<double>& numbers) {
    return usual_range([&](const auto& body) { std::ranges::for_each(numbers, body); });
}

std::vector<double> drawn(const std::function<double(double)>& of_uniform, uint64_t seed) {
    RandomStream random(seed, 1);
    std::vector<double> numbers;
    for (int i = 0; i < 20'000; i++) numbers.push_back(of_uniform(random.unit()));
    return numbers;
}

// Columns without sentinels are as they were: also those with long tails, and those that are mostly one value.
TEST(UsualRange, HasAllOfOrdinaryNumbers) {
    const std::function<double(double)> columns[] = {
        [](double u) { return 1e6 + u; },
        [](double u) { return -std::log(u + 1e-12); },
        [](double u) { return std::pow(u, 8) * 10; },
        [](double u) { return u < 0.5; },
        [](double u) { return u < 0.001 ? 7.0 : 0.0; },
        [](double u) { return u < 0.95 ? 0 : u * 100; },
        [](double u) { return u < 0.8 ? 1e-4 * u : u * 10; },
        [](double u) { return std::pow(u, 40) * 10; },
        [](double) { return -3.0; },
    };
    for (size_t c = 0; c < std::size(columns); c++) {
        const std::vector<double> numbers = drawn(columns[c], c);
        const UsualRange range = range_of(numbers);
        EXPECT_TRUE(std::ranges::all_of(numbers, [&](double x) { return range.contains(x); })) << c;
    }
}

TEST(UsualRange, LeavesOutFarOnes) {
    const std::function<double(double)> columns[] = {
        [](double u) { return 12 * u; },
        [](double u) { return u < 0.95 ? 0.0 : 1.0; },
        [](double u) { return u < 0.1 ? -9999999 : u; },
        [](double u) { return u < 0.4 ? -9999999 : u; },
    };
    for (size_t c = 0; c < std::size(columns); c++)
        for (const double far : {9999999.0, -1e15, 1e308, -1e308}) {
            std::vector<double> numbers = drawn(columns[c], c);
            numbers[5] = far;
            const UsualRange range = range_of(numbers);
            EXPECT_FALSE(range.contains(far));
            EXPECT_TRUE(range.contains(1));
            EXPECT_FALSE(range.contains(-9999999));
            std::ranges::reverse(numbers);
            EXPECT_EQ(range_of(numbers).median, range.median);
            EXPECT_EQ(range_of(numbers).reach, range.reach);
        }
}

} // namespace
} // namespace btml
