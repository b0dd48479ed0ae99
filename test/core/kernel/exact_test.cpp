#include "caught.hpp"
#include "kernel_data.hpp"

#include "core/base/levels.hpp"
#include "core/pairwise/tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace btml::kernel {
namespace {

using namespace btml::test;

Rows random_values(size_t rows, size_t columns, uint64_t seed) {
    return normal_rows(rows, columns, 1, seed);
}

// The largest error over the queries, relative to Σ|x_j|k.
double worst_error(const Rows& keys, const Rows& values, const Rows& queries, const Options& options) {
    QuietContext context(2);
    KernelSums sums(keys_of(keys, values, context), Quantity::sum, options, context);
    const Estimates estimates = sums.evaluate(points_of(queries, context));
    double worst = 0;
    for (size_t i = 0; i < queries.size(); i++) {
        const BruteForce truth = brute_force(options.kernel, keys, values, 0, queries[i], options.bandwidth);
        const double error = std::abs(static_cast<double>(estimates.values[i] - truth.sum));
        // Near the edge of its support a compact kernel is a difference of numbers near 1.
        const double edge = facts_of(options.kernel).is_compact;
        if (error > 0) worst = std::max(worst, error / (static_cast<double>(truth.magnitude) + edge));
        EXPECT_EQ(estimates.std_errors[i], 0);
    }
    return worst;
}

TEST(KernelExact, IsBruteForce) {
    for (const Kernel kernel : all_kernels)
        for (const size_t dimensions : {1, 2, 3, 7, 16, 33, 100})
            for (const double bandwidth : {0.3, 1.0, 3.0}) {
                const Rows keys = normal_rows(700, dimensions, 1, 1), values = random_values(700, 1, 2);
                Rows queries = normal_rows(50, dimensions, 1, 3);
                queries.insert(queries.end(), keys.begin(), keys.begin() + 50);
                EXPECT_LT(worst_error(keys, values, queries, exact_options(bandwidth, kernel)), 1e-5)
                    << dimensions << ' ' << bandwidth << ' ' << facts_of(kernel).name;
            }
}

// Each of these loses its digits without one of the precautions: centring, blocks with centres of their own, medians
// for those, pairs of float32, exponents at most 0, sums in double far from every key.
TEST(KernelExact, KeepsItsDigits) {
    const Rows values = random_values(1000, 1, 2);
    Rows far_from_origin = normal_rows(1000, 3, 1, 1);
    for (auto& row : far_from_origin)
        for (double& x : row) x += 1e6;
    Rows spread = blob_rows(1000, 3, 20, 1e5, 1, 4);
    Rows outlier = normal_rows(1000, 3, 1, 5);
    for (size_t i = 0; i < outlier.size(); i += 300) outlier[i] = {1e7 + static_cast<double>(i), -3e8, 1e9};
    Rows nearly_equal = normal_rows(1000, 16, 1e-4, 6);
    Rows large_norms = normal_rows(1000, 100, 30, 7);
    for (size_t i = 0; i < large_norms.size(); i += 2)
        for (size_t k = 0; k < 100; k++) large_norms[i][k] = large_norms[i + 1][k] + 0.01 * static_cast<double>(k % 7);
    for (const Rows& keys : {far_from_origin, spread, outlier, nearly_equal, large_norms}) {
        Rows queries(keys.begin(), keys.begin() + 200);
        for (size_t i = 0; i < queries.size(); i++) queries[i][0] += 0.1 * static_cast<double>(i % 5);
        for (const Kernel kernel : all_kernels)
            EXPECT_LT(worst_error(keys, values, queries, exact_options(kernel == Kernel{} ? 1 : 2, kernel)), 1e-5)
                << keys[0].size() << ' ' << keys[0][0] << ' ' << facts_of(kernel).name;
    }
}

TEST(KernelExact, SumsFarFromEveryKeyAreInDouble) {
    const Rows keys = normal_rows(600, 2, 1, 1), values = random_values(600, 1, 2);
    Rows queries;
    for (int i = 0; i < 40; i++) queries.push_back({static_cast<double>(i), -0.2 * i}); // to about 1e-300
    EXPECT_LT(worst_error(keys, values, queries, exact_options(1)), 1e-5);
    for (auto& query : queries) query[0] *= 7;
    for (const Kernel kernel : all_kernels) {
        if (kernel == Kernel{}) continue;
        EXPECT_LT(worst_error(keys, values, queries, exact_options(1, kernel)), 1e-5) << facts_of(kernel).name;
    }
    QuietContext context;
    KernelSums sums(keys_of(keys, values, context), Quantity::sum, exact_options(1), context);
    EXPECT_EQ(sums.evaluate(points_of({{1e200, -1e200}, {1e6, 0}}, context)).values[0], 0);
}

TEST(KernelExact, AnIntegerCountIsExact) {
    const Rows keys(1000, {1.5, 2.5});
    QuietContext context;
    KernelSums sums(keys_of(keys, constant_values(1000), context), Quantity::sum, exact_options(0.1), context);
    const Estimates estimates = sums.evaluate(points_of({{1.5, 2.5}}, context));
    EXPECT_EQ(estimates.values[0], 1000);
    EXPECT_EQ(estimates.report.keys, 1U);
}

TEST(KernelExact, EqualKeysAreMerged) {
    Rows keys = normal_rows(500, 4, 1, 1), values = random_values(500, 1, 2);
    for (size_t i = 0; i < 300; i++) keys.push_back(keys[i % 70]), values.push_back({0.01 * static_cast<double>(i)});
    keys.push_back({0.0, 0.0, 0.0, 0.0}), values.push_back({1});
    keys.push_back({-0.0, 0.0, -0.0, 0.0}), values.push_back({2});
    keys.push_back({9.0, 9.0, 9.0, 9.0}), values.push_back({0}); // counts for nothing
    EXPECT_LT(worst_error(keys, values, keys, exact_options(1)), 1e-5);
    QuietContext context;
    KernelSums sums(keys_of(keys, values, context), Quantity::sum, exact_options(1), context);
    EXPECT_EQ(sums.evaluate(points_of(keys, context)).report.keys, 501U);
}

TEST(KernelExact, ResultsDependOnNeitherThreadsNorOrderNorProcessor) {
    const Rows keys = blob_rows(3000, 5, 30, 10, 1, 1), queries = normal_rows(700, 5, 4, 3);
    Rows values = random_values(3000, 1, 2);
    const auto run = [&](Kernel kernel, int threads, bool reversed) {
        QuietContext context(threads);
        Rows k = keys, v = values;
        if (reversed) std::reverse(k.begin(), k.end()), std::reverse(v.begin(), v.end());
        KernelSums sums(keys_of(k, v, context), Quantity::sum, exact_options(1, kernel), context);
        const Estimates estimates = sums.evaluate(points_of(queries, context));
        return std::vector<double>(estimates.values.begin(), estimates.values.end());
    };
    for (const Kernel kernel : all_kernels) {
        const std::vector<double> once = run(kernel, 1, false);
        EXPECT_EQ(once, run(kernel, 4, false));
        EXPECT_EQ(once, run(kernel, 3, true));
        for (const Level level : {Level::baseline, Level::avx2}) {
            choose_level(level);
            EXPECT_EQ(once, run(kernel, 1, false)) << facts_of(kernel).name;
        }
        choose_level(best_level());
    }
}

TEST(KernelExact, AQueryDoesNotSeeTheOthers) {
    const Rows keys = normal_rows(900, 3, 1, 1), queries = normal_rows(301, 3, 1, 3);
    QuietContext context;
    KernelSums sums(keys_of(keys, random_values(900, 1, 2), context), Quantity::sum, exact_options(1), context);
    const Estimates together = sums.evaluate(points_of(queries, context));
    for (const size_t i : {0, 7, 100, 300})
        EXPECT_EQ(sums.evaluate(points_of({queries[i]}, context)).values[0], together.values[i]);
}

TEST(KernelExact, ScaleIsByTheKeys) {
    Rows keys = normal_rows(800, 3, 1, 1), queries = normal_rows(60, 3, 1, 3);
    const Rows values = random_values(800, 1, 2);
    Options options = exact_options(0.7);
    options.scale = Scale::sd;
    std::vector<double> sd(3);
    for (size_t k = 0; k < 3; k++) {
        for (auto& row : keys) row[k] *= std::pow(10.0, static_cast<double>(k));
        if (k == 2)
            for (auto& row : keys) row[k] = 5; // constant: stays as it is
        double mean = 0, squares = 0;
        for (const auto& row : keys) mean += row[k] / 800;
        for (const auto& row : keys) squares += (row[k] - mean) * (row[k] - mean);
        sd[k] = k == 2 ? 1 : std::sqrt(squares / 799);
        for (auto& row : queries) row[k] = k == 2 ? 5.5 : row[k] * sd[k];
    }
    QuietContext context;
    KernelSums sums(keys_of(keys, values, context), Quantity::sum, options, context);
    const Estimates estimates = sums.evaluate(points_of(queries, context));
    for (auto* rows : {&keys, &queries})
        for (auto& row : *rows)
            for (size_t k = 0; k < 3; k++) row[k] /= sd[k];
    for (size_t i = 0; i < queries.size(); i++) {
        const BruteForce truth = brute_force(Kernel{}, keys, values, 0, queries[i], 0.7);
        EXPECT_NEAR(estimates.values[i], static_cast<double>(truth.sum), 1e-5 * static_cast<double>(truth.magnitude));
    }
}

TEST(KernelExact, WeightsMayBeLargeOrSmall) {
    const Rows keys = normal_rows(500, 3, 1, 1);
    for (const double scale : {1e-300, 1e-30, 1e30, 1e300}) {
        Rows values = random_values(500, 1, 2);
        for (auto& row : values) row[0] *= scale;
        EXPECT_LT(worst_error(keys, values, Rows(keys.begin(), keys.begin() + 50), exact_options(1)), 1e-5) << scale;
    }
}

TEST(KernelExact, NoWeightAtAllSumsToNothing) {
    QuietContext context;
    KernelSums sums(keys_of({{1}, {2}}, {{0}, {0}}, context), Quantity::sum, exact_options(1), context);
    EXPECT_EQ(sums.evaluate(points_of({{1}}, context)).values[0], 0);
}

TEST(KernelExact, Errors) {
    QuietContext context;
    const auto message = [&](auto&& body) {
        const Caught error = caught(body);
        return error.message + '|' + error.hint;
    };
    const auto sums = [&](const Rows& keys, const Rows& values, Quantity quantity, const Options& options) {
        KernelSums made(keys_of(keys, values, context), quantity, options, context);
        made.evaluate(points_of({{1.0, 2.0}}, context));
    };
    EXPECT_EQ(message([&] { sums({{1.0}}, {{1.0}}, Quantity::sum, exact_options(0)); }),
              "bandwidth must be given|It is in the units of the columns. btml.density and btml.kernel_regression "
              "choose one by "
              "themselves, btml.select_bandwidth shows the scores of many.");
    Options options = exact_options(1);
    options.epsilon = -1;
    EXPECT_EQ(message([&] { sums({{1.0}}, {{1.0}}, Quantity::sum, options); }),
              "invalid value for option \"epsilon\": -1|Valid values are greater than 0 and at most 1.");
    options = exact_options(1);
    options.confidence = 1;
    EXPECT_EQ(message([&] { sums({{1.0}}, {{1.0}}, Quantity::sum, options); }),
              "invalid value for option \"confidence\": 1|Valid values are greater than 0 and less than 1.");
    EXPECT_EQ(message([&] { sums({{1.0}}, {{1.0}}, Quantity::sum, exact_options(1)); }),
              "queries have 2 coordinates, keys have 1|");
    EXPECT_EQ(message([&] {
                  sums({{0.0}, {1e13}}, {{1.0}, {1.0}}, Quantity::sum, exact_options(1));
              }),
              "coordinate 1 of the keys spreads over more than 1e12 bandwidths|Choose a larger bandwidth, or leave out "
              "keys that are far off.");
    EXPECT_EQ(message([&] {
                  sums({{0.0}, {1.0}}, {{1.0}, {-1.0}}, Quantity::density, exact_options(1));
              }),
              "row 2 of the keys has the negative weight -1|Only sums may have negative weights.");
    EXPECT_EQ(message([&] {
                  sums({{0.0}, {1.0}}, {{0.0}, {0.0}}, Quantity::density, exact_options(1));
              }),
              "the keys' weights sum to 0, not to a positive number|");
    EXPECT_EQ(message([&] { sums({{0.0}}, {{1.0}}, Quantity::mean, exact_options(1)); }),
              "keys have 1 values, at least 2 are needed|");
    EXPECT_EQ(message([&] { KernelSums(Keys(1, 1, context.memory()), Quantity::sum, exact_options(1), context); }),
              "there are no keys|");
    Points points(2, context.memory(), "queries");
    EXPECT_EQ(message([&] { points.append(std::vector<double>{1.0}); }),
              "row 1 of the queries has 1 coordinates, the rows before have 2|");
    EXPECT_EQ(message([&] {
                  points.append(std::vector<double>{1.0, NAN});
              }),
              "row 1 of the queries has a number that is NaN|");
    EXPECT_EQ(message([&] {
                  points.append(std::vector<double>{INFINITY, -INFINITY});
              }),
              "row 1 of the queries has a number that is infinite|");
    Keys keys(1, 1, context.memory());
    EXPECT_EQ(message([&] { keys.append(std::vector<double>{1.0}, std::vector<double>{INFINITY}); }),
              "row 1 of the keys has a number that is infinite|");
    EXPECT_EQ(message([&] {
                  keys.append(std::vector<double>{1.0}, std::vector<double>{1.0, 2.0});
              }),
              "row 1 of the keys has 2 values, the rows before have 1|");
    EXPECT_EQ(message([&] { Points(0, context.memory(), "keys"); }), "the keys have no coordinates|");
}

TEST(KernelExact, NumbersNearTheLargestAreFinite) {
    QuietContext context;
    Points points(2, context.memory(), "queries");
    points.append(std::vector<double>{1.7e308, 1.7e308});
    EXPECT_EQ(points.rows(), 1U);
}

TEST(KernelExact, IsCancelled) {
    const Rows keys = normal_rows(5000, 3, 1, 1);
    ImpatientContext context(50);
    EXPECT_THROW(
        {
            KernelSums sums(keys_of(keys, constant_values(5000), context), Quantity::sum, exact_options(1), context);
            for (;;) sums.evaluate(points_of(keys, context));
        },
        Cancelled);
    EXPECT_EQ(context.memory().used(), 0U);
}

// Every level that this processor has gives the same bits.
TEST(KernelTiles, AreTheSameOnEveryProcessor) {
    constexpr size_t dimensions = 5;
    Normals normal(1);
    std::vector<double> queries(dimensions * tile_queries), centre(dimensions);
    std::vector<float> keys(block_keys * dimensions), low(keys.size()), norms(block_keys), weights(block_keys);
    for (double& x : queries) x = 3 * normal();
    for (double& x : centre) x = normal();
    for (float& x : keys) x = static_cast<float>(2 * normal());
    for (float& x : low) x = static_cast<float>(1e-8 * normal());
    for (float& x : norms) x = static_cast<float>(normal() * normal());
    for (float& x : weights) x = static_cast<float>(normal());
    std::vector<std::vector<float>> results;
    for (const Level level : {Level::baseline, Level::avx2, Level::avx512}) {
        if (level > best_level()) continue;
        choose_level(level);
        std::vector<float> high((dimensions + 1) * tile_queries), rest(high.size()), result;
        float query_norms[keys_per_vector];
        tiles::centre(queries.data(), centre.data(), dimensions, high.data(), rest.data(), query_norms);
        const TileQueries tile_of{high.data(), rest.data(), query_norms};
        const BlockKeys block{keys.data(), low.data(), norms.data(), block_keys / keys_per_vector};
        std::vector<float> tile(tile_values);
        for (const Form form : {Form::products, Form::differences, Form::wide})
            for (const Kernel kernel : all_kernels) {
                if (form == Form::products && !facts_of(kernel).takes_products) continue;
                tiles::evaluate(kernel, form, tile_of, block, dimensions, tile.data());
                result.insert(result.end(), tile.begin(), tile.end());
                tiles::square(tile.data(), block.vectors);
                tiles::multiply(tile.data(), weights.data(), block.vectors);
                result.insert(result.end(), tile.begin(), tile.end());
                std::vector<double> sums(tile_queries * 8, 0.0);
                tiles::weigh(tile.data(), weights.data(), block.vectors, sums.data());
                for (const double x : sums) result.push_back(static_cast<float>(x));
            }
        results.push_back(result);
    }
    choose_level(best_level());
    ASSERT_FALSE(results.empty());
    for (const auto& result : results)
        EXPECT_EQ(0, std::memcmp(result.data(), results[0].data(), result.size() * sizeof(float)));
}

} // namespace
} // namespace btml::kernel
