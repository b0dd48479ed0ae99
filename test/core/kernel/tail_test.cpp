#include "caught.hpp"
#include "kernel_data.hpp"

#include "core/kernel/kernel_tail.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace btml::kernel {
namespace {

using namespace btml::test;

std::vector<double> sorted_entries(const Rows& keys, const Rows& queries, size_t prefix, const Options& options) {
    std::vector<double> entries;
    for (size_t i = 0; i < std::min(prefix, queries.size()); i++)
        for (size_t j = 0; j < std::min(prefix, keys.size()); j++)
            entries.push_back(kernel_value(options.kernel, queries[i], keys[j], options.bandwidth));
    std::sort(entries.rbegin(), entries.rend());
    return entries;
}

double tail_ratio(const std::vector<double>& entries, size_t n) {
    double top = 0, tail = 0;
    for (size_t i = 0; i < entries.size(); i++) (i < n ? top : tail) += entries[i];
    return tail / top;
}

TEST(KernelTail, RatioIsBruteForce) {
    for (const size_t of_keys : {60, 300, 700})
        for (const Kernel kernel : all_kernels) {
            const Rows keys = normal_rows(of_keys, 4, 1, 1), queries = normal_rows(330, 4, 1, 2);
            const Options options = exact_options(1, kernel);
            QuietContext context(2);
            const TailRatio ratio =
                kernel_tail_ratio(points_of(keys, context, "keys"), points_of(queries, context), options, context);
            const auto entries = sorted_entries(keys, queries, 1000, options);
            const double expected = tail_ratio(entries, std::max<size_t>(330, of_keys));
            EXPECT_NEAR(ratio.value, expected, 1e-5 * expected);
            EXPECT_EQ(ratio.std_error, 0);
            EXPECT_EQ(ratio.evaluations, entries.size());
        }
}

TEST(KernelTail, EqualPointsAreEntriesOfTheirOwn) {
    QuietContext context;
    const Rows rows(20, {1.0, 2.0});
    const TailRatio ratio =
        kernel_tail_ratio(points_of(rows, context, "keys"), points_of(rows, context), exact_options(1), context);
    EXPECT_EQ(ratio.value, 19); // 400 ones, 20 of them the top
}

TEST(KernelTail, WithoutAnyMassIsInfinite) {
    QuietContext context;
    const TailRatio ratio =
        kernel_tail_ratio(points_of({{0.0}}, context, "keys"), points_of({{1e9}}, context), exact_options(1), context);
    EXPECT_EQ(ratio.value, std::numeric_limits<double>::infinity());
}

TEST(KernelTail, SampleHasTheErrorItStates) {
    const Rows of_keys = blob_rows(20000, 3, 40, 10, 1, 1), of_queries = blob_rows(2000, 3, 40, 10, 1, 1);
    QuietContext context(2);
    const Points keys = points_of(of_keys, context, "keys"), queries = points_of(of_queries, context);
    const double exact = kernel_tail_ratio(keys, queries, exact_options(0.3), context).value;
    Options options = exact_options(0.3);
    options.method = Method::sampled;
    double squares = 0, stated = 0;
    constexpr int seeds = 8;
    for (int seed = 0; seed < seeds; seed++) {
        options.seed = static_cast<uint64_t>(seed);
        const TailRatio ratio = kernel_tail_ratio(keys, queries, options, context);
        EXPECT_EQ(ratio.evaluations, 1000U * 20000U);
        EXPECT_NEAR(ratio.value, exact, 4 * ratio.std_error);
        squares += (ratio.value - exact) * (ratio.value - exact);
        stated += ratio.std_error * ratio.std_error;
    }
    EXPECT_GT(stated, 0.4 * squares);
    EXPECT_LT(stated, 4 * squares);
    // Where all rows fit into the sample nothing is left to chance.
    const Points few = points_of({of_queries.begin(), of_queries.begin() + 300}, context);
    const TailRatio all = kernel_tail_ratio(keys, few, options, context);
    EXPECT_EQ(all.std_error, 0);
    const double expected = kernel_tail_ratio(keys, few, exact_options(0.3), context).value;
    EXPECT_NEAR(all.value, expected, 1e-9 * expected);
}

TEST(KernelTail, ProfileIsBruteForce) {
    const Rows keys = normal_rows(500, 3, 1, 1), queries = normal_rows(420, 3, 1, 2);
    QuietContext context(2);
    const Options options = exact_options(0.7);
    const auto profile =
        kernel_tail_profile(points_of(keys, context, "keys"), points_of(queries, context), options, {}, context);
    std::vector<uint64_t> prefixes;
    for (const TailOfPrefix& tail : profile) {
        prefixes.push_back(tail.prefix);
        const auto entries = sorted_entries(keys, queries, tail.prefix, options);
        const double expected = tail_ratio(entries, tail.prefix);
        EXPECT_NEAR(tail.tail_ratio, expected, 1e-5 * expected);
        EXPECT_NEAR(tail.nth_to_next, entries[tail.prefix - 1] / entries[tail.prefix], 1e-5);
        EXPECT_NEAR(tail.nth_to_2nth, entries[tail.prefix - 1] / entries[2 * tail.prefix - 1], 1e-4);
    }
    EXPECT_EQ(prefixes, (std::vector<uint64_t>{50, 100, 200, 400, 500}));
    const auto chosen =
        kernel_tail_profile(points_of(keys, context, "keys"), points_of(queries, context), options, {7, 1}, context);
    EXPECT_EQ(chosen[0].prefix, 7U);
    EXPECT_EQ(chosen[1].prefix, 1U);
    EXPECT_EQ(chosen[1].tail_ratio, 0); // one entry
    EXPECT_EQ(chosen[1].nth_to_next, std::numeric_limits<double>::infinity());
}

TEST(KernelTail, Errors) {
    QuietContext context;
    const Points one = points_of({{0.0}}, context), two = points_of({{0.0, 1.0}}, context);
    const Points none(1, context.memory(), "keys");
    const Options options = exact_options(1);
    EXPECT_EQ(caught([&] { kernel_tail_ratio(none, one, options, context); }).message, "there are no keys");
    EXPECT_EQ(caught([&] { kernel_tail_ratio(one, none, options, context); }).message, "there are no queries");
    EXPECT_EQ(caught([&] { kernel_tail_ratio(one, two, options, context); }).message,
              "queries have 2 coordinates, keys have 1");
    EXPECT_EQ(caught([&] { kernel_tail_profile(one, one, options, {2}, context); }).message,
              "a prefix of 2 points is not between 1 and 1");
    EXPECT_EQ(caught([&] { kernel_tail_profile(one, one, exact_options(-1), {}, context); }).message,
              "invalid value for option \"bandwidth\": -1");
    ImpatientContext impatient(3);
    const Points many = points_of(normal_rows(3000, 2, 1, 1), impatient);
    EXPECT_THROW(kernel_tail_ratio(many, many, options, impatient), Cancelled);
}

} // namespace
} // namespace btml::kernel
