// What core/pairwise/kernels/kernels.hpp asks of every kernel.
#include "kernel_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace btml::kernel {

namespace refused {

// Falls like a power of the distance, with functions of its own: scores would take it for an exponential function.
template <template <class> class Family>
struct RationalQuadratic : Family<RationalQuadratic<Family>> {
    static constexpr const char* name = "rational_quadratic";
    using Metric = pairwise::Squares;
    static constexpr bool takes_products = true, is_rooted = false, is_compact = false;
    static constexpr double rate = 1, order = 0, least = 0x1p-100;
    static double unit() { return 1; }
    static double exponent(double sum) { return std::log2(1 + sum); }
    template <class Arithmetic, class Number = typename Arithmetic::Number>
    static Number value(Number sum) {
        return Arithmetic::number(1) / (Arithmetic::number(1) + sum);
    }
    static double log_integral(double) { return 0; }
    static double log_square_integral(double) { return 0; }
    static double variance(double) { return 1; }
};
template <class>
struct NoFamily {};
static_assert(!pairwise::KernelShape<RationalQuadratic<NoFamily>>);
static_assert(!pairwise::KernelShape<RationalQuadratic<pairwise::Decaying>>);
static_assert(!pairwise::KernelShape<RationalQuadratic<pairwise::Compact>>);
static_assert(pairwise::KernelShape<pairwise::Matern32> && pairwise::KernelShape<pairwise::Epanechnikov>);

} // namespace refused

namespace {

using namespace btml::test;

// Σ over the coordinates of two points so many bandwidths apart.
double sum_at(const KernelFacts& kernel, double bandwidths) {
    return kernel.sum_at(bandwidths * kernel.unit());
}

TEST(Kernels, FallFromOneAsTheirExponentsGrow) {
    for (const Kernel one : all_kernels) {
        const KernelFacts& kernel = facts_of(one);
        EXPECT_EQ(kernel.id, one);
        EXPECT_EQ(kernel.value(0), 1) << kernel.name;
        double value = 1, exponent = 0;
        for (double distance = 0.01; distance < 35; distance *= 1.1) {
            const double sum = sum_at(kernel, distance), expected = kernel_value(one, {distance}, {0}, 1);
            EXPECT_NEAR(kernel.value(sum), expected, 1e-12 * expected) << kernel.name << ' ' << distance;
            EXPECT_LE(kernel.value(sum), value);
            EXPECT_GT(kernel.exponent(sum), exponent);
            if (kernel.is_compact)
                EXPECT_NEAR(kernel.exponent(sum), 1 - kernel.value(sum), kernel.value(sum) > 0 ? 1e-12 : INFINITY);
            else
                EXPECT_NEAR(kernel.exponent(sum), -std::log2(expected), 1e-9) << kernel.name << ' ' << distance;
            value = kernel.value(sum);
            exponent = kernel.exponent(sum);
        }
    }
}

TEST(Kernels, TilesHaveTheirValuesDownToTheLeast) {
    for (const Kernel one : all_kernels) {
        const KernelFacts& kernel = facts_of(one);
        QuietContext context;
        KernelSums sums(keys_of({{0}}, {{1}}, context), Quantity::sum, exact_options(1, one), context);
        for (double distance = 0.1; distance < 280; distance += 0.37) {
            const double expected = kernel_value(one, {distance}, {0}, 1),
                         value = sums.evaluate(points_of({{distance}}, context)).values[0];
            EXPECT_NEAR(value, expected, kernel.is_compact ? 1e-6 : 1e-5 * expected) << kernel.name << ' ' << distance;
            EXPECT_LE(value, 1);
        }
    }
}

// Against the sum over spheres of the metric.
TEST(Kernels, IntegralsAreThoseByQuadrature) {
    for (const Kernel one : all_kernels)
        for (const double d : {1.0, 2.0, 3.0, 4.0, 7.0, 16.0, 40.0}) {
            const KernelFacts& kernel = facts_of(one);
            const bool squares = kernel.sum_at(3) == 9;
            const double log_area = squares
                                        ? std::numbers::ln2 + d / 2 * std::log(std::numbers::pi) - std::lgamma(d / 2)
                                        : d * std::numbers::ln2 - std::lgamma(d);
            const double farthest = kernel.is_compact ? 1.5 : 150, step = farthest * 1e-5;
            double integral = 0, roughness = 0, variance = 0; // by the midpoint rule
            for (double r = step / 2; r < farthest; r += step) {
                const double value = kernel.value(sum_at(kernel, r)), log_shell = (d - 1) * std::log(r) + log_area,
                             density = value * std::exp(log_shell - kernel.log_integral(d));
                integral += density * step;
                roughness += value * value * std::exp(log_shell - kernel.log_square_integral(d)) * step;
                variance += density * r * r * (squares ? 1 / d : 2 / (d + 1) / d) * step; // the mean over the sphere
            }
            EXPECT_NEAR(integral, 1, 1e-5) << kernel.name << ' ' << d;
            EXPECT_NEAR(roughness, 1, 1e-5) << kernel.name << ' ' << d;
            EXPECT_NEAR(variance / kernel.variance(d), 1, 1e-5) << kernel.name << ' ' << d;
        }
}

// Of points drawn from a distribution with tails that are heavier than those of any kernel.
TEST(Kernels, DensitiesIntegrateToOneByMonteCarlo) {
    for (const Kernel kernel : all_kernels)
        for (const size_t dimensions : {1, 3, 6}) {
            QuietContext context(2);
            constexpr size_t count = 20000;
            const double bandwidth = 0.7, spread = facts_of(kernel).is_compact ? 0.15 : 0.7,
                         scale = spread * std::sqrt(static_cast<double>(dimensions));
            const Rows keys = normal_rows(5, dimensions, 0.3, 1);
            KernelSums density(keys_of(keys, constant_values(5), context), Quantity::density,
                               exact_options(bandwidth, kernel), context);
            Normals uniform(3);
            Rows points(count, std::vector<double>(dimensions));
            std::vector<double> log_density(count, 0.0);
            for (size_t i = 0; i < count; i++)
                for (double& x : points[i]) {
                    const double magnitude = -scale * std::log(1 - uniform.unit());
                    x = uniform.unit() < 0.5 ? -magnitude : magnitude;
                    log_density[i] -= magnitude / scale + std::log(2 * scale);
                }
            const Estimates estimates = density.evaluate(points_of(points, context));
            double sum = 0, squares = 0;
            for (size_t i = 0; i < count; i++) {
                const double ratio = estimates.values[i] / std::exp(log_density[i]);
                sum += ratio / count;
                squares += ratio * ratio / count;
            }
            const double error = std::sqrt((squares - sum * sum) / count);
            EXPECT_LT(error, 0.05) << facts_of(kernel).name << ' ' << dimensions;
            EXPECT_NEAR(sum, 1, 4 * error) << facts_of(kernel).name << ' ' << dimensions;
        }
}

} // namespace
} // namespace btml::kernel
