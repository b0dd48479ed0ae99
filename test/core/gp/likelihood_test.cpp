#include "caught.hpp"
#include "gp_reference.hpp"

namespace btml::gp::test {
namespace {

using btml::test::caught;
using btml::test::ImpatientContext;

double likelihood_of(const PlainGp& plain, RunContext& context) {
    const PlainGp rows = sorted(plain);
    return negative_log_likelihood(common_of_neighbours(rows), make_observations(rows.target, rows.weight, context),
                                   rows.kernel, context);
}

double gradient_of(const PlainGp& plain, Gradient& gradient, RunContext& context) {
    const PlainGp rows = sorted(plain);
    LikelihoodGradient pass(context);
    return pass(common_of_neighbours(rows), make_observations(rows.target, rows.weight, context), rows.kernel, gradient,
                context);
}

TEST(BinaryTreeLikelihood, EqualsDenseAlgebra) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 400; seed++) {
        const PlainGp plain = random_gp(shape_of(seed), seed);
        expect_near(likelihood_of(plain, context), dense_negative_log_likelihood(plain), 1, std::to_string(seed));
    }
    EXPECT_EQ(context.memory().used(), 0u);
}

TEST(BinaryTreeLikelihood, GradientEqualsDenseAlgebra) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const PlainGp plain = random_gp(shape_of(seed), seed);
        const Gradient expected = dense_gradient(plain);
        Gradient gradient;
        EXPECT_EQ(gradient_of(plain, gradient, context), likelihood_of(plain, context));
        ASSERT_EQ(gradient.weights.size(), expected.weights.size());
        const double scale = largest(expected.weights);
        for (size_t level = 0; level < expected.weights.size(); level++)
            expect_near(gradient.weights[level], expected.weights[level], scale, std::to_string(seed));
        expect_near(gradient.noise, expected.noise, 0, std::to_string(seed));
    }
    EXPECT_EQ(context.memory().used(), 0u);
}

TEST(BinaryTreeLikelihood, GradientEqualsFiniteDifferences) {
    QuietContext context;
    for (uint64_t seed = 0; seed < 20; seed++) {
        PlainGp plain = random_gp({.levels = 9, .weights = seed % 2 == 1}, seed);
        Gradient gradient;
        gradient_of(plain, gradient, context);
        const auto slope = [&](double& parameter) {
            const double step = 1e-5 * (parameter + 0.1), middle = parameter;
            parameter = middle + step;
            const double above = likelihood_of(plain, context);
            parameter = std::max(0.0, middle - step);
            const double below = likelihood_of(plain, context), width = middle + step - parameter;
            parameter = middle;
            return (above - below) / width;
        };
        EXPECT_NEAR(gradient.noise, slope(plain.kernel.noise), 1e-5 * (1 + std::abs(gradient.noise)));
        for (size_t level = 0; level < 9; level++) {
            if (plain.kernel.weights[level] == 0) continue; // the difference would be one-sided
            EXPECT_NEAR(gradient.weights[level], slope(plain.kernel.weights[level]),
                        1e-5 * (1 + std::abs(gradient.weights[level])));
        }
    }
}

// Far more signal than noise, or noise than signal.
TEST(BinaryTreeLikelihood, KeepsItsPrecisionAtExtremes) {
    QuietContext context;
    for (const double noise : {1e-7, 1e-4, 1e6}) {
        PlainGp plain = random_gp({.rows = 60, .levels = 30, .alike = 0.9}, 5);
        plain.kernel.noise = noise;
        expect_near(likelihood_of(plain, context), dense_negative_log_likelihood(plain));
        const Gradient expected = dense_gradient(plain);
        Gradient gradient;
        gradient_of(plain, gradient, context);
        expect_near(gradient.noise, expected.noise);
    }
}

TEST(BinaryTreeLikelihood, LongProductsStayInRange) {
    QuietContext context;
    PlainGp plain = random_gp({.rows = 500, .levels = 10}, 1);
    for (const double scale : {1e-40, 1e40}) {
        PlainGp scaled = plain;
        for (double& weight : scaled.kernel.weights) weight *= scale;
        scaled.kernel.noise *= scale;
        for (double& y : scaled.target) y *= std::sqrt(scale);
        EXPECT_NEAR(likelihood_of(scaled, context), likelihood_of(plain, context) + 250 * std::log(scale), 1e-8);
    }
}

TEST(BinaryTreeLikelihood, NothingObserved) {
    QuietContext context;
    PlainGp plain;
    plain.kernel.weights = {1, 2};
    Gradient gradient;
    EXPECT_EQ(likelihood_of(plain, context), 0);
    EXPECT_EQ(gradient_of(plain, gradient, context), 0);
    EXPECT_EQ(gradient.weights, (std::vector<double>{0, 0}));
    EXPECT_EQ(gradient.noise, 0);
}

// Equal strings as one observation of their weighted mean.
TEST(BinaryTreeLikelihood, MergedRowsCountAsTheirRows) {
    QuietContext context;
    for (const bool weights : {false, true}) {
        PlainGp rows;
        rows.strings = {"0010", "0010", "0010", "0111", "1000", "1000"};
        rows.target = {1, 2, -0.5, 0.25, 3, 3.5};
        if (weights) rows.weight = {0.5, 1, 2, 3, 0.25, 0.75};
        rows.kernel = {{0.3, 0.1, 0, 0.7}, 0.2};
        Observations merged(context.memory());
        for (const auto& [begin, end] : {std::pair(0, 3), {3, 4}, {4, 6}}) {
            double sum = 0, weight = 0, logs = 0;
            for (int i = begin; i < end; i++) {
                const auto row = static_cast<size_t>(i);
                sum += rows.weight_of(row) * rows.target[row];
                weight += rows.weight_of(row);
                logs += std::log(rows.weight_of(row));
            }
            for (int i = begin; i < end; i++) {
                const auto row = static_cast<size_t>(i);
                merged.residual += rows.weight_of(row) * std::pow(rows.target[row] - sum / weight, 2);
            }
            merged.target.push_back(sum / weight);
            merged.weight.push_back(weight);
            merged.merged += end - begin - 1;
            merged.log_weights += logs - std::log(weight);
        }
        const std::vector<uint16_t> common = {1, 0, 0};
        expect_near(negative_log_likelihood(common, merged, rows.kernel, context), likelihood_of(rows, context));
        Gradient of_merged, of_rows;
        LikelihoodGradient pass(context);
        pass(common, merged, rows.kernel, of_merged, context);
        gradient_of(rows, of_rows, context);
        expect_near(of_merged.noise, of_rows.noise);
        for (size_t level = 0; level < 4; level++) expect_near(of_merged.weights[level], of_rows.weights[level], 1);
    }
}

TEST(BinaryTreeLikelihood, CanBeCancelled) {
    const std::vector<double> target(400'000, 1.0);
    const std::vector<uint16_t> common(target.size(), 0);
    const Kernel kernel{{1, 0.5}, 0.1};
    QuietContext quiet;
    const Observations observations = make_observations(target, {}, quiet);
    ImpatientContext context(0), other(0);
    EXPECT_THROW(negative_log_likelihood(common, observations, kernel, context), Cancelled);
    Gradient gradient;
    LikelihoodGradient pass(other);
    EXPECT_THROW(pass(common, observations, kernel, gradient, other), Cancelled);
}

TEST(BinaryTreeKernel, InvalidParametersAreRefused) {
    const auto refusal = [](Kernel kernel) { return caught([&] { kernel.validate(); }).message; };
    EXPECT_EQ(refusal({{1, 0, 2}, 0.5}), "");
    EXPECT_EQ(refusal({{1}, 0}), "invalid noise variance 0");
    EXPECT_EQ(refusal({{1}, -1}), "invalid noise variance -1");
    EXPECT_EQ(refusal({{1}, std::nan("")}), "invalid noise variance nan");
    EXPECT_EQ(refusal({{1, -0.5}, 1}), "invalid kernel weight -0.5");
    EXPECT_EQ(refusal({{1, std::nan("")}, 1}), "invalid kernel weight nan");
    EXPECT_EQ(refusal({{9e49, 9e49}, 1}), "invalid signal variance 1.8e+50");
    EXPECT_EQ(refusal({std::vector<double>(max_levels + 1, 0.0), 1}),
              "a bit order has at most 32767 levels, this one has 32768");
    EXPECT_EQ(caught([] { Kernel{{1}, 0}.validate(); }).hint, "It is a number from 1e-50 to 1e+50.");
}

TEST(Observations, ImpossibleOnesAreRefused) {
    QuietContext context;
    const std::vector<double> nan = {1, std::nan("")}, fine = {1, 2}, zero = {1, 0}, huge = {1, 1e41};
    EXPECT_EQ(caught([&] { make_observations(nan, {}, context); }).message, "a target of NaN is not finite");
    EXPECT_EQ(caught([&] { make_observations(fine, zero, context); }).message, "invalid weight 0");
    EXPECT_EQ(caught([&] { make_observations(fine, huge, context); }).message, "invalid weight 1e+41");
}

} // namespace
} // namespace btml::gp::test
