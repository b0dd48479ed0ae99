#include "core/numbers/elementary.hpp"

#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace btml {
namespace {

// The distance in units of the last place of what is expected.
double units_apart(double got, long double expected) {
    int exponent;
    std::frexp(expected, &exponent);
    return static_cast<double>(std::fabs((static_cast<long double>(got) - expected) / std::ldexp(1.0L, exponent - 53)));
}

TEST(Elementary, ExponentialIsWithinTwoUnits) {
    double most = 0;
    for (uint64_t i = 0; i < 2'000'000; i++) {
        const double range = i % 2 ? 700 : 2, x = range * (2 * random_unit(1, 0, i) - 1);
        most = std::max(most, units_apart(exponential(x), std::exp(static_cast<long double>(x))));
    }
    EXPECT_LT(most, 1.5);
    EXPECT_EQ(exponential(0.0), 1);
    EXPECT_EQ(exponential(-709.0), 0);
}

TEST(Elementary, LogarithmIsWithinTwoUnits) {
    double most = 0;
    for (uint64_t i = 0; i < 2'000'000; i++) {
        const double u = random_unit(2, 0, i);
        const double x = i % 3 == 0 ? 1 + (u - 0.5) / 4 : i % 3 == 1 ? std::exp(1400 * (u - 0.5)) : 4 * u + 1e-9;
        most = std::max(most, units_apart(logarithm(x), std::log(static_cast<long double>(x))));
    }
    EXPECT_LT(most, 1.5);
    EXPECT_EQ(logarithm(1.0), 0);
    EXPECT_LT(units_apart(logarithm(std::numeric_limits<double>::min()),
                          std::log(static_cast<long double>(std::numeric_limits<double>::min()))),
              1.5);
}

TEST(Elementary, LanesAreNumbersSideBySide) {
    for (uint64_t i = 0; i < 1000; i++) {
        Lanes x, y;
        for (size_t lane = 0; lane < lanes; lane++) x[lane] = 300 * random_unit(3, lane, i) + 1e-3;
        y = x;
        Lanes negative = -x;
        exponential<Lanes, LaneBits>(negative);
        logarithm<Lanes, LaneBits>(y);
        for (size_t lane = 0; lane < lanes; lane++) {
            EXPECT_EQ(negative[lane], exponential(-x[lane]));
            EXPECT_EQ(y[lane], logarithm(x[lane]));
        }
    }
}

} // namespace
} // namespace btml
