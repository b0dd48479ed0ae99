#include "caught.hpp"
#include "kernel_data.hpp"

#include "core/kernel/attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace btml::kernel {
namespace {

using namespace btml::test;

// Weights, and weights times targets.
Rows with_targets(const std::vector<double>& weights, const Rows& targets) {
    Rows values;
    for (size_t i = 0; i < weights.size(); i++) {
        values.push_back({weights[i]});
        for (const double target : targets[i]) values.back().push_back(weights[i] * target);
    }
    return values;
}

std::vector<double> positive_weights(size_t count, uint64_t seed) {
    Normals normal(seed);
    std::vector<double> weights(count);
    for (double& x : weights) x = 0.1 + normal.unit();
    return weights;
}

TEST(KernelDensity, IntegratesToOne) {
    for (const Kernel kernel : all_kernels)
        for (const Scale scale : {Scale::none, Scale::sd}) {
            QuietContext context;
            const Rows keys = normal_rows(40, 2, 2, 1), weights = {{0.5}, {2}, {1}};
            Rows values;
            for (size_t i = 0; i < keys.size(); i++) values.push_back(weights[i % 3]);
            Options options = exact_options(0.6, kernel);
            options.scale = scale;
            KernelSums density(keys_of(keys, values, context), Quantity::density, options, context);
            Rows grid;
            constexpr double step = 0.1, half = 18;
            for (double x = -half; x < half; x += step)
                for (double y = -half; y < half; y += step) grid.push_back({x, y});
            const Estimates estimates = density.evaluate(points_of(grid, context));
            double sum = 0;
            for (const double x : estimates.values) sum += x * step * step;
            EXPECT_NEAR(sum, 1, 2e-3) << static_cast<int>(kernel) << static_cast<int>(scale);
        }
}

TEST(KernelDensity, IsRightFarOutAndInManyDimensions) {
    QuietContext context;
    KernelSums one(keys_of({{0, 0}}, {{3}}, context), Quantity::density, exact_options(2), context);
    const Estimates far = one.evaluate(points_of({{0, 0}, {60, 0}, {1e9, 0}}, context));
    EXPECT_NEAR(far.values[0], 1 / (2 * std::numbers::pi * 4), 1e-9);
    EXPECT_NEAR(std::log(far.values[1]), -450 - std::log(8 * std::numbers::pi), 1e-6);
    EXPECT_EQ(far.values[2], 0);
    const std::vector<double> origin(500, 0.0);
    KernelSums many(keys_of({origin}, {{1}}, context), Quantity::density, exact_options(0.3), context);
    EXPECT_NEAR(std::log(many.evaluate(points_of({origin}, context)).values[0]),
                -250 * std::log(2 * std::numbers::pi * 0.09), 1e-6);
}

TEST(KernelMean, IsBruteForce) {
    const Rows keys = normal_rows(900, 3, 1, 1), targets = normal_rows(900, 3, 5, 2),
               queries = normal_rows(80, 3, 1, 3);
    const std::vector<double> weights = positive_weights(900, 4);
    const Rows values = with_targets(weights, targets);
    for (const Kernel kernel : all_kernels) {
        QuietContext context(2);
        const double bandwidth = facts_of(kernel).is_compact ? 5 : 0.4;
        KernelSums mean(keys_of(keys, values, context), Quantity::mean, exact_options(bandwidth, kernel), context);
        const Estimates estimates = mean.evaluate(points_of(queries, context));
        ASSERT_EQ(estimates.columns, 3U);
        for (size_t i = 0; i < queries.size(); i++) {
            const BruteForce mass = brute_force(kernel, keys, values, 0, queries[i], bandwidth);
            for (size_t c = 0; c < 3; c++) {
                const BruteForce sum = brute_force(kernel, keys, values, c + 1, queries[i], bandwidth);
                EXPECT_NEAR(estimates.values[i * 3 + c], static_cast<double>(sum.sum / mass.sum),
                            2e-5 * static_cast<double>(sum.magnitude / mass.sum));
            }
        }
    }
}

TEST(KernelMean, WithoutMassIsTheNearestKeysTarget) {
    // Two keys are equally near to the last query: half and half by their weights.
    const Rows keys = {{0, 0}, {1, 0}, {5, 5}}, values = with_targets({1, 3, 1}, {{10}, {20}, {30}});
    for (const Kernel kernel : all_kernels) {
        QuietContext context;
        KernelSums mean(keys_of(keys, values, context), Quantity::mean, exact_options(1e-3, kernel), context);
        const Estimates estimates =
            mean.evaluate(points_of({{-400, 0.1}, {0.7, 0.2}, {1e8, 2e8}, {5, 5}, {0.5, 0}}, context));
        const double expected[] = {10, 20, 30, 30, 17.5};
        for (size_t i = 0; i < 5; i++) EXPECT_NEAR(estimates.values[i], expected[i], 1e-5) << i;
    }
}

// Where squares of distances do not tell keys apart, or overflow.
TEST(KernelMean, IsTheNearestKeysTargetFromAnyDistance) {
    const Rows keys = {{1, 0}, {1.5, 1}, {3, -1}}, values = with_targets({1, 1, 1}, {{10}, {20}, {30}});
    for (const Kernel kernel : all_kernels)
        for (const double far : {1e9, 1e18, 1e160, 1.7e308})
            for (const Method method : {Method::exact, Method::sampled}) {
                QuietContext context;
                Options options = exact_options(0.01, kernel);
                options.method = method;
                KernelSums mean(keys_of(keys, values, context), Quantity::mean, options, context);
                const Estimates estimates = mean.evaluate(points_of({{far, 0}, {-far, 0}, {0, far}}, context));
                const double expected[] = {30, 10, 20};
                for (size_t i = 0; i < 3; i++) EXPECT_NEAR(estimates.values[i], expected[i], 1e-5) << far << " " << i;
                KernelSums sum(keys_of(keys, values, context), Quantity::sum, options, context);
                EXPECT_EQ(sum.evaluate(points_of({{far, 0}}, context)).values[0], 0) << far;
            }
}

TEST(KernelMean, RefusesValuesWhoseSumOverflows) {
    QuietContext context;
    const auto error = [&](Quantity quantity, const Rows& values) {
        return caught([&] { KernelSums(keys_of({{1}, {1}}, values, context), quantity, exact_options(1), context); });
    };
    const char* const message = "the keys' weights or values add up to more than a number can hold";
    EXPECT_EQ(error(Quantity::sum, {{1e308}, {1e308}}).message, message);
    EXPECT_EQ(error(Quantity::sum, {{1e308}, {-1e308}}).message, message);
    EXPECT_EQ(error(Quantity::density, {{1e308}, {1e308}}).message, message);
    EXPECT_EQ(error(Quantity::mean, {{1, 1e308}, {1, 1e308}}).message, message);
    EXPECT_EQ(error(Quantity::mean, {{1, 1e308}, {1, 1e308}}).code, ErrorCode::out_of_range);
}

TEST(KernelMean, WeighsKeysThatAreAllFar) {
    // 10 bandwidths away the sums in float32 are gone; the mean is not.
    const Rows keys = {{0}, {0.05}}, values = with_targets({1, 1}, {{0}, {1}});
    QuietContext context;
    KernelSums mean(keys_of(keys, values, context), Quantity::mean, exact_options(1), context);
    const double k = std::exp(-20.0 * 20 / 2), other = std::exp(-19.95 * 19.95 / 2);
    EXPECT_NEAR(mean.evaluate(points_of({{20}}, context)).values[0], other / (k + other), 1e-9);
}

// softmax(q·k/√d)·v in long double.
std::vector<double> softmax(const std::vector<double>& query, const Rows& keys, const Rows& values) {
    std::vector<long double> products;
    for (const auto& key : keys) {
        long double product = 0;
        for (size_t k = 0; k < key.size(); k++) product += static_cast<long double>(query[k]) * key[k];
        products.push_back(product / std::sqrt(static_cast<long double>(key.size())));
    }
    const long double largest = *std::max_element(products.begin(), products.end());
    std::vector<long double> sums(values[0].size(), 0);
    long double total = 0;
    for (size_t i = 0; i < keys.size(); i++) {
        const long double weight = std::exp(products[i] - largest);
        total += weight;
        for (size_t c = 0; c < sums.size(); c++) sums[c] += weight * values[i][c];
    }
    std::vector<double> result;
    for (const long double sum : sums) result.push_back(static_cast<double>(sum / total));
    return result;
}

TEST(Attention, IsSoftmax) {
    for (const double sd : {0.3, 1.0, 3.0, 20.0}) { // up to products far beyond what exp can hold
        const Rows keys = normal_rows(500, 16, sd, 1), values = normal_rows(500, 5, 1, 2),
                   queries = normal_rows(40, 16, sd, 3);
        QuietContext context(2);
        Options options;
        options.method = Method::exact;
        Attention attention(keys_of(keys, values, context), options, context);
        const Estimates estimates = attention.evaluate(points_of(queries, context));
        ASSERT_EQ(estimates.columns, 5U);
        for (size_t i = 0; i < queries.size(); i++) {
            const std::vector<double> expected = softmax(queries[i], keys, values);
            for (size_t c = 0; c < 5; c++) EXPECT_NEAR(estimates.values[i * 5 + c], expected[c], 2e-5) << sd;
        }
    }
}

TEST(Attention, ScalesByTheKeysDeviations) {
    const Rows keys{{1, 20}, {2, 40}, {4, -10}}, values{{1}, {2}, {5}}, queries{{1, 3}};
    Rows scaled = keys, scaled_queries = queries;
    for (size_t k = 0; k < 2; k++) {
        const double mean = (keys[0][k] + keys[1][k] + keys[2][k]) / 3;
        double squares = 0;
        for (const auto& key : keys) squares += (key[k] - mean) * (key[k] - mean);
        for (auto& key : scaled) key[k] /= std::sqrt(squares / 2);
        scaled_queries[0][k] /= std::sqrt(squares / 2);
    }
    QuietContext context;
    Options options;
    options.bandwidth = 1;
    Attention plain(keys_of(scaled, values, context), options, context);
    const double expected = plain.evaluate(points_of(scaled_queries, context)).values[0];
    options.scale = Scale::sd;
    Attention attention(keys_of(keys, values, context), options, context);
    EXPECT_NEAR(attention.evaluate(points_of(queries, context)).values[0], expected, 1e-6);
}

TEST(Attention, DoesNotSeeWhatAllKeysHaveInCommon) {
    Rows keys = normal_rows(300, 8, 1, 1);
    const Rows values = normal_rows(300, 2, 1, 2), queries = normal_rows(20, 8, 1, 3);
    for (auto& key : keys) key[0] += 3;
    QuietContext context;
    Attention attention(keys_of(keys, values, context), Options{}, context);
    const Estimates estimates = attention.evaluate(points_of(queries, context));
    for (size_t i = 0; i < queries.size(); i++)
        EXPECT_NEAR(estimates.values[i * 2], softmax(queries[i], keys, values)[0], 1e-5);
}

TEST(Attention, DoesNotDependOnTheOrderOfTheKeys) {
    const Rows keys = normal_rows(3000, 3, 2, 1), values = normal_rows(3000, 2, 1, 2);
    const Rows back_keys(keys.rbegin(), keys.rend()), back_values(values.rbegin(), values.rend());
    QuietContext context;
    Options options;
    options.epsilon = 0.5;
    options.method = Method::sampled;
    options.scale = Scale::sd;
    Attention forth(keys_of(keys, values, context), options, context),
        back(keys_of(back_keys, back_values, context), options, context);
    const Points queries = points_of(keys, context);
    const Estimates a = forth.evaluate(queries), b = back.evaluate(queries);
    EXPECT_TRUE(std::equal(a.values.begin(), a.values.end(), b.values.begin()));
    EXPECT_LE(*std::max_element(a.std_errors.begin(), a.std_errors.end()), 1.1); // the values' own deviation is 1
    EXPECT_GT(*std::max_element(a.std_errors.begin(), a.std_errors.end()), 0);
}

TEST(KernelSums, TakesNoMoreQueriesThanFit) {
    QuietContext context(1, uint64_t{8} << 20);
    KernelSums sums(keys_of(normal_rows(10, 2, 1, 1), constant_values(10), context), Quantity::sum, exact_options(1),
                    context);
    EXPECT_EQ(sums.queries_that_fit(1000, 16), 1000U);
    const uint64_t small = sums.queries_that_fit(1'000'000, 16), large = sums.queries_that_fit(1'000'000, 1600);
    EXPECT_LT(small, 500'000U);
    EXPECT_GT(small, 50'000U);
    EXPECT_LT(large, 5000U);
    EXPECT_GT(large, 3000U);
    EXPECT_EQ(sums.queries_that_fit(1000, uint64_t{8} << 20), 0U);
}

TEST(Attention, Errors) {
    QuietContext context;
    Attention attention(keys_of({{1, 2}}, {{3}}, context), Options{}, context);
    EXPECT_EQ(caught([&] { attention.evaluate(points_of({{1.0}}, context)); }).message,
              "queries have 1 coordinates, keys have 2");
    EXPECT_EQ(caught([&] { Attention(Keys(2, 0, context.memory()), Options{}, context); }).message,
              "keys have 0 values, at least 1 is needed");
    EXPECT_EQ(caught([&] { Attention(Keys(2, 1, context.memory()), Options{}, context); }).message,
              "there are no keys");
}

} // namespace
} // namespace btml::kernel
