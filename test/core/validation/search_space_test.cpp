#include "core/validation/search_space.hpp"

#include "caught.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace btml::validation {
namespace {

using btml::test::caught;

Dimension range(double from, double to, bool is_log = false, bool is_integer = false) {
    return {"x", {}, from, to, is_log, is_integer};
}

Dimension list(std::vector<OptionValue> values) {
    return {"x", std::move(values)};
}

TEST(SearchSpace, LogarithmicRangesGoFromEndToEnd) {
    for (const auto& [from, to] : {std::pair(1e-4, 1e4), std::pair(0.01, 0.3), std::pair(5e-324, 1e-300)}) {
        EXPECT_NEAR(std::get<double>(range(from, to, true).draw(0)), from, 1e-3 * from + 3e-308);
        EXPECT_NEAR(std::get<double>(range(from, to, true).draw(1)), to, 1e-3 * to);
        for (double unit = 0; unit < 1; unit += 1e-3) {
            const double x = std::get<double>(range(from, to, true).draw(unit));
            EXPECT_LE(from, x);
            EXPECT_LE(x, to);
            if (from > 1e-300) {
                EXPECT_NEAR(x, from * std::pow(to / from, unit), 1e-3 * x);
            }
        }
    }
}

TEST(SearchSpace, RangesAreDrawnEvenlyOnTheirScales) {
    constexpr size_t count = 20000;
    const auto share_below = [](const Dimension& dimension, double limit) {
        size_t below = 0;
        for (size_t i = 0; i < count; i++) {
            const OptionValue value = dimension.draw((static_cast<double>(i) + 0.5) / count);
            const double x =
                dimension.is_integer ? static_cast<double>(std::get<int64_t>(value)) : std::get<double>(value);
            EXPECT_LE(dimension.from, x);
            EXPECT_LE(x, dimension.to);
            below += x < limit;
        }
        return static_cast<double>(below) / count;
    };
    EXPECT_NEAR(share_below(range(2, 6), 3), 0.25, 1e-3);
    EXPECT_NEAR(share_below(range(-2, 6), 0), 0.25, 1e-3);
    EXPECT_NEAR(share_below(range(0.01, 100, true), 0.1), 0.25, 1e-3);
    EXPECT_NEAR(share_below(range(1, 4, false, true), 2), 0.25, 1e-3);
    EXPECT_NEAR(share_below(range(1, 4, false, true), 4), 0.75, 1e-3);
    EXPECT_NEAR(share_below(range(1, 10000, true, true), 100), 0.5, 2e-3);
}

TEST(SearchSpace, NumbersHaveFourDigitsAndStayInside) {
    const Dimension third = range(1.0 / 3, 2.0 / 3);
    EXPECT_EQ(std::get<double>(third.draw(0)), 1.0 / 3); // 0.3333 would be below
    EXPECT_EQ(std::get<double>(third.draw(0.999999999)), 2.0 / 3);
    EXPECT_EQ(std::get<double>(third.draw(0.5)), 0.5);
    EXPECT_EQ(std::get<double>(range(0, 1).draw(0.123456)), 0.1235);
    EXPECT_EQ(std::get<double>(range(5, 5).draw(0.3)), 5);
}

TEST(SearchSpace, SmallSpacesAreGoneThroughAndNoPointComesTwice) {
    const std::vector<Dimension> small = {list({int64_t{1}, int64_t{2}, OptionValue()}), range(0, 3, false, true),
                                          list({std::string("a"), std::string("b")})};
    const std::vector<Point> all = points_of(small, 24, 5);
    EXPECT_EQ(all.size(), 24u);
    EXPECT_EQ(std::set<Point>(all.begin(), all.end()).size(), 24u);
    EXPECT_EQ(points_of(small, 1000, 5), all);
    const std::vector<Point> some = points_of(small, 23, 5);
    EXPECT_EQ(some.size(), 23u);
    EXPECT_EQ(std::set<Point>(some.begin(), some.end()).size(), 23u);
    for (const Point& point : some) EXPECT_NE(std::find(all.begin(), all.end(), point), all.end());
    EXPECT_EQ(points_of(small, 23, 5), some);
    EXPECT_NE(points_of(small, 23, 6), some);
    EXPECT_EQ(points_of({range(5, 5)}, 10, 0).size(), 1u);
    EXPECT_EQ(points_of({range(1, 1.001)}, 10, 0).size(), 2u); // of four digits
    EXPECT_EQ(points_of({range(0, 1)}, 50, 0).size(), 50u);
}

TEST(SearchSpace, HugeSpacesDoNotOverflow) {
    const std::vector<Dimension> huge(12, range(-9e15, 9e15, false, true));
    EXPECT_EQ(points_of(huge, 20, 1).size(), 20u);
}

TEST(SearchSpace, NonsenseIsRefused) {
    const auto message = [](const Dimension& dimension) { return caught([&] { check(dimension); }).message; };
    const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
    EXPECT_EQ(message(range(2, 1)), "space of option \"x\" is empty: from is greater than to");
    EXPECT_EQ(message(range(nan, 1)), "space of option \"x\" is not finite");
    EXPECT_EQ(message(range(0, infinity)), "space of option \"x\" is not finite");
    EXPECT_EQ(message(range(0, 1, true)), "space of option \"x\" has no logarithms: from is not greater than 0");
    EXPECT_EQ(message(range(-1, 1, true)), "space of option \"x\" has no logarithms: from is not greater than 0");
    EXPECT_EQ(message(range(0.5, 2, false, true)), "space of option \"x\" has bounds that are no integers");
    EXPECT_EQ(message(range(0, 1e17, false, true)), "space of option \"x\" has bounds that are no integers");
    EXPECT_EQ(message(range(1, 1)), "");
    EXPECT_EQ(message(list({1.0})), "");
}

} // namespace
} // namespace btml::validation
