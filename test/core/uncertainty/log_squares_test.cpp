#include "core/base/run_context.hpp"
#include "core/uncertainty/log_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace btml::uncertainty {
namespace {

LogSquares log_squares(const std::vector<double>& magnitudes, double part = 1e-3) {
    static QuietContext context;
    Buffer<double> copied(context.memory(), "test");
    for (const double magnitude : magnitudes) copied.push_back(magnitude);
    return {std::move(copied), part, context};
}

TEST(LogSquares, AreOfErrorsAndTheFloor) {
    const LogSquares squares = log_squares({4, 1, 2, 9, 0.5}); // the median is 2
    for (const double error : {-3.0, 0.0, 1e-9, 0.002, 5.0, 1e100})
        EXPECT_NEAR(squares.of(error), 2 * std::log(std::hypot(error, 0.002)),
                    1e-9 * (1 + std::log(2 + std::abs(error))))
            << error;
    EXPECT_NEAR(log_squares({4, 1, 2}, 1).of(3), std::log(9 + 4), 1e-12);
}

TEST(LogSquares, GrowByTheirSlope) {
    const LogSquares squares = log_squares({4, 1, 2}, 1);
    for (const double error : {-3.0, 0.1, 2.0, 50.0}) {
        const double grown = squares.of(error * (1 + 1e-6)) - squares.of(error);
        EXPECT_NEAR(squares.slope(error), grown / (2 * std::log1p(1e-6)), 1e-5) << error;
    }
    EXPECT_EQ(squares.slope(0), 0);
}

// Of ties that are the half and more, the largest error says what is little.
TEST(LogSquares, HaveAFloorWhateverTheErrors) {
    EXPECT_NEAR(log_squares({0, 0, 0, 7}).of(0), 2 * std::log(7e-6), 1e-9);
    EXPECT_NEAR(log_squares({0}).of(0), 2 * std::log(1e-120), 1e-6);
    EXPECT_NEAR(log_squares({3}).of(3), 2 * std::log(3), 1e-5);
}

} // namespace
} // namespace btml::uncertainty
