#include "core/boosting/strategy.hpp"

#include "relational/random_join.hpp"

#include <gtest/gtest.h>

namespace btml::boosting::test {
namespace {

using relational::Join;

// Tables of so many rows that all meet on one key.
Join product_of(int tables, int rows, RunContext& context) {
    relational::test::PlainJoin plain;
    for (int t = 0; t < tables; t++)
        plain.tables.push_back({{0},
                                {relational::test::Column(static_cast<size_t>(rows), 0)},
                                rows,
                                std::vector<double>(static_cast<size_t>(rows), 1)});
    return relational::test::columnar(plain, context);
}

Options squares_of(int trees, bool sketch) {
    Options options;
    options.trees = trees;
    options.criterion = Criterion::mse_sum;
    options.sketch_residuals = sketch;
    options.sketch_size = 50;
    return options;
}

TEST(Strategy, PairsOfLeavesGrowFasterThanSketches) {
    QuietContext context;
    const Join join = product_of(3, 3'000, context);
    const auto seconds = [&](int trees, bool sketch) { return factorising_seconds(join, squares_of(trees, sketch)); };
    EXPECT_LT(seconds(2, false), seconds(2, true));
    EXPECT_GT(seconds(200, false), seconds(200, true));
    EXPECT_NEAR(seconds(1'000, false) / seconds(500, false), 8, 0.5); // nodes times pairs of leaves
    EXPECT_NEAR(seconds(1'000, true) / seconds(500, true), 4, 0.5);   // nodes times leaves
    Options larger = squares_of(100, true), small = larger;
    larger.sketch_size *= 100;
    EXPECT_GT(factorising_seconds(join, larger), 30 * factorising_seconds(join, small));
    small.criterion = larger.criterion = Criterion::variance; // needs no squares
    EXPECT_EQ(factorising_seconds(join, larger), factorising_seconds(join, small));
}

// 36 million rows of the join: worth holding beside pairs of leaves, not beside sketches.
TEST(Strategy, AutomaticChoiceKnowsHowSquaresAreSummed) {
    QuietContext context;
    const Join join = product_of(2, 6'000, context);
    const auto choice = [&](const Options& options) { return choose_strategy(join, options, context).strategy; };
    EXPECT_EQ(choice(squares_of(100, false)), Strategy::enumerate);
    EXPECT_EQ(choice(squares_of(100, true)), Strategy::factorize);
    Options variance = squares_of(100, false);
    variance.criterion = Criterion::variance;
    EXPECT_EQ(choice(variance), Strategy::factorize);
}

// 4 million rows of the join from 2 × 2000: 72 MB with the rows held. Without, 2,000 leaves take 1 MB of bits,
// 2,000,000 leaves 1 GB.
TEST(Strategy, AutomaticChoiceFitsIntoMemory) {
    const auto choice = [](int trees, uint64_t limit) {
        QuietContext context(1, limit);
        const Join join = product_of(2, 2'000, context);
        Options options;
        options.trees = trees;
        options.max_leaves = 1000;
        return choose_strategy(join, options, context).strategy;
    };
    constexpr uint64_t mb = uint64_t{1} << 20;
    EXPECT_EQ(choice(2, 20 * mb), Strategy::factorize); // which alone fits
    EXPECT_EQ(choice(2000, 200 * mb), Strategy::enumerate);
    EXPECT_EQ(choice(2000, 20 * mb), Strategy::sample); // neither fits
    EXPECT_EQ(choice(2, mb), Strategy::sample);
}

// Also of more rows than any other strategy counts.
TEST(Strategy, SamplesWhereAsked) {
    QuietContext context;
    Options options;
    options.strategy = Strategy::sample;
    for (const int tables : {1, 2, 30}) {
        const StrategyChoice choice = choose_strategy(product_of(tables, 10, context), options, context);
        EXPECT_EQ(choice.strategy, Strategy::sample);
        EXPECT_EQ(choice.reason, "asked for");
    }
    EXPECT_STREQ(name_of(Strategy::sample), "sample");
    options.strategy = Strategy::automatic;
    options.sample_rows = 5;
    EXPECT_THROW(options.validate(), Error);
}

} // namespace
} // namespace btml::boosting::test
