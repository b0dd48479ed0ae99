#include "core/relational/queries/sketch_size.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace btml::relational {
namespace {

TEST(SketchSize, IsTheBoundOfThePaper) {
    EXPECT_EQ(sketch_size(0.1, 0.1, 1), 5'000U);
    EXPECT_EQ(sketch_size(0.1, 0.1, 2), 11'000U);
    EXPECT_EQ(sketch_size(0.1, 0.1, 3), 29'000U);
    EXPECT_EQ(sketch_size(0.1, 0.1, 6), 731'000U);
    EXPECT_EQ(sketch_size(0.3, 0.2, 2), 612U); // 611.1
    EXPECT_EQ(sketch_size(1e-12, 0.1, 2), uint64_t{1} << 63);
    EXPECT_EQ(sketch_size(0.1, 0.1, 2'000), uint64_t{1} << 63);
    EXPECT_DOUBLE_EQ(sketch_relative_sd(11'000, 2), std::sqrt(1e-3));
}

// The probability that at least half of m sketches are off, each with probability p.
double median_fails(int m, double p) {
    double sum = 0;
    for (int off = (m + 1) / 2; off <= m; off++)
        sum += std::exp(std::lgamma(m + 1) - std::lgamma(off + 1) - std::lgamma(m - off + 1) + off * std::log(p) +
                        (m - off) * std::log1p(-p));
    return sum;
}

TEST(SketchSize, MedianKeepsThePromiseForAllGroups) {
    for (uint64_t groups : {uint64_t{1}, uint64_t{100}, uint64_t{10'000'000}})
        for (double delta : {0.3, 0.1, 0.001}) {
            const SketchPlan plan = sketch_plan(0.1, delta, groups, 3);
            EXPECT_EQ(plan.sketches % 2, 1);
            const double variance = std::pow(sketch_relative_sd(plan.size, 3), 2);
            const double each = variance / (0.1 * 0.1); // Chebyshev
            EXPECT_LE(static_cast<double>(groups) * (plan.sketches == 1 ? each : median_fails(plan.sketches, each)),
                      delta * (1 + 1e-9));
            EXPECT_LE(static_cast<double>(plan.size) * plan.sketches,
                      static_cast<double>(sketch_size(0.1, delta / static_cast<double>(groups), 3)));
        }
}

TEST(SketchSize, OneSketchWhereItIsLessWork) {
    EXPECT_EQ(sketch_plan(0.1, 0.1, 1, 3).sketches, 1);
    EXPECT_EQ(sketch_plan(0.1, 0.1, 1, 3).size, 29'000U);
    // Dividing δ by the number of groups would need 29·10^10 numbers.
    const SketchPlan plan = sketch_plan(0.1, 0.1, 10'000'000, 3);
    EXPECT_EQ(plan.size, 23'200U);
    EXPECT_EQ(plan.sketches, 45);
}

} // namespace
} // namespace btml::relational
