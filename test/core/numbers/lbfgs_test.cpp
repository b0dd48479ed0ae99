// Minimising a smooth function.
#include "core/numbers/lbfgs.hpp"

#include <gtest/gtest.h>

using namespace btml;

namespace {

TEST(Lbfgs, FindsTheMinimumOfANarrowValley) {
    std::vector<double> x{-1.2, 1, 3};
    const Minimum minimum = minimise(
        x,
        [](std::span<const double> at, std::span<double> gradient) {
            const double a = 1 - at[0], b = at[1] - at[0] * at[0];
            gradient[0] = -2 * a - 400 * at[0] * b;
            gradient[1] = 200 * b;
            gradient[2] = 2 * at[2];
            return a * a + 100 * b * b + at[2] * at[2];
        },
        300, 1e-20, 10);
    EXPECT_LT(minimum.value, 1e-12);
    EXPECT_LT(minimum.evaluations, 120);
    EXPECT_NEAR(x[0], 1, 1e-5);
    EXPECT_NEAR(x[2], 0, 1e-5);
}

TEST(Lbfgs, ReturnsTheBestPointWithinItsEvaluations) {
    for (int evaluations = 1; evaluations < 12; evaluations++) {
        std::vector<double> x{5};
        int calls = 0;
        const auto function = [&](std::span<const double> at, std::span<double> gradient) {
            calls++;
            gradient[0] = 4 * at[0] * at[0] * at[0];
            return at[0] * at[0] * at[0] * at[0];
        };
        const Minimum minimum = minimise(x, function, evaluations, 0, 10);
        EXPECT_EQ(minimum.evaluations, calls);
        EXPECT_LE(calls, evaluations);
        EXPECT_EQ(minimum.value, x[0] * x[0] * x[0] * x[0]);
    }
}

} // namespace
