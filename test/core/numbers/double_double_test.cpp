#include "core/numbers/double_double.hpp"

#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace btml {
namespace {

__extension__ using Quad = __float128;

Quad quad(const DoubleDouble& x) {
    return static_cast<Quad>(x.high) + x.low;
}

// Returns how far a number is from what is expected, in parts of `size`.
double error(const DoubleDouble& got, Quad expected, Quad size) {
    const Quad off = quad(got) - expected;
    return static_cast<double>((off < 0 ? -off : off) / size);
}

DoubleDouble random_number(uint64_t seed, uint64_t i) {
    const double high =
        std::ldexp(2 * random_unit(seed, 0, i) - 1, static_cast<int>(random_unit(seed, 1, i) * 60) - 30);
    return DoubleDouble(high) + DoubleDouble(std::ldexp(high, -53) * (random_unit(seed, 2, i) - 0.5));
}

TEST(DoubleDouble, SumsAndProductsHaveAHundredBits) {
    double sum = 0, product = 0;
    for (uint64_t i = 0; i < 200'000; i++) {
        const DoubleDouble a = random_number(1, i), b = random_number(2, i);
        const Quad x = quad(a), y = quad(b), size = (x < 0 ? -x : x) + (y < 0 ? -y : y);
        sum = std::max(sum, error(a + b, x + y, size));
        product = std::max(product, error(a * b, x * y, x * y < 0 ? -x * y : x * y));
        EXPECT_EQ((a + b).nearest(), static_cast<double>(quad(a + b)));
    }
    EXPECT_LT(sum, 0x1p-103);
    EXPECT_LT(product, 0x1p-100);
}

TEST(DoubleDouble, WhatCancelsLeavesTheRest) {
    DoubleDouble sum;
    for (int i = 1; i <= 1000; i++) sum += DoubleDouble(1e8 * i) * 1e8;
    sum += 0.125;
    for (int i = 1; i <= 1000; i++) sum += DoubleDouble(-1e8 * i) * 1e8;
    EXPECT_EQ(sum.nearest(), 0.125);
    EXPECT_EQ(DoubleDouble::product(0x1p60 + 0x1p10, 0x1p60 - 0x1p10).low, -0x1p20);
    EXPECT_EQ((DoubleDouble(1e200) * 1e80 + DoubleDouble(-1e200) * 1e80).nearest(), 0);
}

// Squares of targets of nearly 1e150 are inside, and so are sums of 100 million of them.
TEST(DoubleDouble, TheRangeIsThatOfDoubles) {
    double worst = 0;
    for (uint64_t i = 0; i < 10'000; i++) {
        const DoubleDouble a = random_number(3, i) * 0x1p480, b = random_number(4, i) * 0x1p480;
        const Quad expected = quad(a) * quad(b);
        worst = std::max(worst, std::fabs(error(a * b, expected, expected)));
    }
    EXPECT_LT(worst, 0x1p-100);
    EXPECT_EQ((DoubleDouble(0x1p500) * 0x1p500 * 0x1p20).nearest(), 0x1p1020);
    EXPECT_EQ((DoubleDouble(1e154) * 1e154 + DoubleDouble(-1e154) * 1e154).nearest(), 0);
    EXPECT_TRUE(std::isnan((DoubleDouble(1e155) * 1e155).nearest()));
    EXPECT_TRUE(std::isnan((DoubleDouble(1.5e308) + 1.5e308).nearest()));
}

TEST(DoubleDouble, UnderflowAddsLittle) {
    const auto size_of = [](Quad x) { return static_cast<double>((x < 0 ? -x : x) * Quad{0x1p1000}); };
    for (int exponent = -900; exponent >= -1080; exponent--)
        for (uint64_t i = 0; i < 1000; i++) {
            const DoubleDouble a = random_number(5, i), b = std::ldexp(random_number(6, i).high, exponent);
            const Quad expected = quad(a) * quad(b);
            EXPECT_LE(size_of(quad(a * b) - expected), 0x1p-100 * size_of(expected) + 2e-323 * 0x1p1000) << exponent;
        }
}

} // namespace
} // namespace btml
