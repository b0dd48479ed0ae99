#include "core/uncertainty/calibration.hpp"

#include "core/numbers/rng.hpp"
#include "core/numbers/student_t.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace btml::uncertainty {
namespace {

// By the library's Γ, whose logarithms lose digits to each other where df is large.
double plain_nll(double z, double df) {
    return std::lgamma(df / 2) - std::lgamma((df + 1) / 2) + std::log(df * std::numbers::pi) / 2 +
           (df + 1) / 2 * std::log1p(z * z / df);
}

TEST(StudentT, DensityByTheLibrary) {
    for (const double df : {1e-3, 0.1, 1.0, 1.5, 2.0, 7.3, 29.9, 31.0, 100.0, 1000.0})
        for (const double z : {0.0, 1e-9, 1e-3, 0.02, 0.7, 3.0, 41.0, 1e5, 1e100})
            EXPECT_NEAR(student_t_nll(z, df), plain_nll(z, df), 1e-11 * (1 + std::fabs(plain_nll(z, df))))
                << z << ' ' << df;
    EXPECT_DOUBLE_EQ(student_t_nll(-2.5, 3), student_t_nll(2.5, 3));
    // Of very many degrees of freedom it is the normal distribution.
    EXPECT_NEAR(student_t_nll(1.3, 1e12), 1.3 * 1.3 / 2 + std::log(2 * std::numbers::pi) / 2, 1e-10);
    EXPECT_TRUE(std::isfinite(student_t_nll(1e300, 1e-3)));
}

// Draws by the ratio of a normal number and the root of a mean of squares.
std::vector<double> draws(size_t count, double scale, int df, uint64_t seed) {
    uint64_t next = 0;
    const auto normal = [&] {
        const double radius = std::sqrt(-2 * std::log(1 - random_unit(seed, 1, next)));
        return radius * std::cos(2 * std::numbers::pi * random_unit(seed, 2, next++));
    };
    std::vector<double> z;
    for (size_t i = 0; i < count; i++) {
        double squares = 0;
        for (int k = 0; k < df; k++) {
            const double x = normal();
            squares += x * x;
        }
        z.push_back(scale * normal() / (df > 0 ? std::sqrt(squares / df) : 1));
    }
    std::sort(z.begin(), z.end());
    return z;
}

double mean_nll(const std::vector<double>& z, double scale, double df) {
    double sum = 0;
    for (const double each : z) sum += plain_nll(each / scale, df) + std::log(scale);
    return sum / static_cast<double>(z.size());
}

TEST(StudentT, IsTheLikeliestOfAGrid) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 8; seed++) {
        const std::vector<double> z =
            draws(20 + 300 * seed, 0.1 * static_cast<double>(1 + seed * seed), 1 + static_cast<int>(seed % 5), seed);
        const StudentT found = likeliest_student_t(z, context);
        const double nll = mean_nll(z, found.scale, found.df);
        double least = nll;
        for (double df = 1; df <= 1000; df *= 1.1)
            for (double factor = 0.5; factor < 2; factor *= 1.05)
                least = std::min(least, mean_nll(z, found.scale * factor, df));
        EXPECT_LE(nll, least + 1e-6) << seed << ": " << found.df;
        EXPECT_NEAR(found.nll(z[3]), plain_nll(z[3] / found.scale, found.df) + std::log(found.scale), 1e-9);
    }
}

TEST(StudentT, FindsWhatDrewTheNumbers) {
    QuietContext context;
    for (const int df : {1, 2, 4, 8}) {
        const StudentT found = likeliest_student_t(draws(30'000, 2.5, df, 100 + static_cast<uint64_t>(df)), context);
        EXPECT_NEAR(found.df, df, 0.12 * df);
        EXPECT_NEAR(found.scale, 2.5, 0.1);
    }
    const StudentT normal = likeliest_student_t(draws(30'000, 3, 0, 7), context);
    EXPECT_GT(normal.df, 30);
    EXPECT_NEAR(normal.scale, 3, 0.1);
}

TEST(StudentT, OneFarNumberLeavesTheScaleOfOthers) {
    QuietContext context;
    for (const double far : {1e3, 1e5, 1e9, 1e20, 1e100}) {
        std::vector<double> z = draws(500, 0.4, 0, 3);
        z.push_back(far);
        const StudentT found = likeliest_student_t(z, context);
        EXPECT_GT(found.scale, 0.2) << far;
        EXPECT_LT(found.scale, 0.6) << far;
    }
}

TEST(StudentT, TiesAndExtremes) {
    QuietContext context;
    const std::vector<double> zeros(10, 0.0);
    EXPECT_EQ(likeliest_student_t(zeros, context).scale, 0);
    std::vector<double> most_zero(100, 0.0);
    most_zero.back() = 5;
    const StudentT tied = likeliest_student_t(most_zero, context);
    EXPECT_NEAR(tied.scale, 1e-3 * 0.5, 1e-6); // a thousandth of the root mean square
    for (const double size : {1e-300, 1e-150, 1e150, 1.7e308}) {
        const StudentT one = likeliest_student_t(std::vector<double>{-size, size / 2}, context);
        EXPECT_TRUE(one.scale > 0 && std::isfinite(one.scale) && one.df >= 1) << size;
    }
}

} // namespace
} // namespace btml::uncertainty
