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

TEST(Strategy, SketchesTakeLongerTheMoreLeavesThereAreAndTheLargerTheyAre) {
    QuietContext context;
    const Join join = product_of(3, 3'000, context);
    const auto seconds = [&](const Options& options) { return sketching_seconds(join, options, context); };
    EXPECT_NEAR(seconds(squares_of(1'000, true)) / seconds(squares_of(500, true)), 4, 0.5); // nodes times leaves
    Options larger = squares_of(100, true);
    larger.sketch_size *= 100;
    EXPECT_GT(seconds(larger), 30 * seconds(squares_of(100, true)));
    larger.criterion = Criterion::variance; // needs no squares
    EXPECT_EQ(seconds(larger), 0);
    EXPECT_EQ(seconds(squares_of(100, false)), 0);
}

// 36 million rows of the join: what holding them takes is what factorising may take. Rows that do not fit leave no
// choice.
TEST(Strategy, FactorisingMayTakeNoLongerThanHoldingTheRows) {
    QuietContext context, small(1, uint64_t{1} << 28);
    const auto choice = [](const Options& options, RunContext& some, const Workload& workload = {}) {
        return choose_strategy(product_of(2, 6'000, some), workload, options, some);
    };
    const StrategyChoice exact = choice(squares_of(100, false), context);
    const StrategyChoice sketched = choice(squares_of(10, true), context);
    EXPECT_EQ(exact.strategy, Strategy::factorize);
    EXPECT_EQ(sketched.strategy, Strategy::factorize);
    EXPECT_GT(exact.allowance.max_nanoseconds, 1e9);
    EXPECT_EQ(sketched.allowance.max_nanoseconds, choice(squares_of(10, false), context).allowance.max_nanoseconds);
    EXPECT_GT(sketched.allowance.sketching_nanoseconds, 0);
    EXPECT_EQ(exact.allowance.sketching_nanoseconds, 0);
    EXPECT_EQ(choice(squares_of(100, true), context).strategy, Strategy::enumerate);
    EXPECT_EQ(choice(squares_of(2, false), small).strategy, Strategy::factorize);
    EXPECT_EQ(choice(squares_of(2, false), small).allowance.max_nanoseconds, std::numeric_limits<double>::infinity());
    Options fewer = squares_of(100, false);
    const double of_ten = choice(fewer, context, {.features = 10}).allowance.max_nanoseconds;
    EXPECT_GT(of_ten, 1.5 * exact.allowance.max_nanoseconds);
    fewer.feature_fraction = 0.5;
    EXPECT_EQ(choice(fewer, context, {.features = 10}).allowance.max_nanoseconds,
              choice(squares_of(100, false), context, {.features = 5}).allowance.max_nanoseconds);
    const StrategyChoice continued = choice(squares_of(100, false), context, {.known_trees = 50});
    EXPECT_LT(continued.allowance.max_nanoseconds, 0.6 * exact.allowance.max_nanoseconds);
    EXPECT_EQ(continued.allowance.known_trees, 50);
    Options asked = squares_of(100, false);
    asked.strategy = Strategy::factorize;
    EXPECT_EQ(choice(asked, context).allowance.max_nanoseconds, std::numeric_limits<double>::infinity());
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
        return choose_strategy(join, {}, options, context).strategy;
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
        const StrategyChoice choice = choose_strategy(product_of(tables, 10, context), {}, options, context);
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
