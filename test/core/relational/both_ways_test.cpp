#include "core/relational/join/both_ways.hpp"

#include "caught.hpp"
#include "random_join.hpp"

#include <gtest/gtest.h>

namespace btml::relational {
namespace {

using namespace test;
using btml::test::ImpatientContext;

// Numbers for the rows of each table, but 1 for those of one.
std::vector<Buffer<double>> random_factors(const Join& join, int but, uint64_t seed, RunContext& context) {
    std::vector<Buffer<double>> factors;
    for (const Table& table : join.tables()) {
        const auto t = static_cast<int>(factors.size());
        Buffer<double>& of_table = factors.emplace_back(context.memory(), "a test", table.rows);
        for (uint64_t row = 0; row < table.rows; row++)
            of_table[row] = t == but ? 1 : random_unit(seed, static_cast<uint64_t>(t), row) - 0.5;
    }
    return factors;
}

TEST(BothWays, AreInsideOutFromEveryTable) {
    size_t large = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        SCOPED_TRACE(seed);
        QuietContext context(seed % 3 == 0 ? 3 : 1);
        ThreadTeam team(context);
        const Join join = columnar(seed % 2 ? random_join(seed, cyclic_shape) : random_join(seed + 30'000), context);
        const std::vector<Buffer<double>> factors = random_factors(join, -1, seed, context);
        const BothWays<SumProduct> messages(join, factors, team, context);
        for (int t = 0; t < static_cast<int>(join.tables().size()); t++) {
            const std::vector<Buffer<double>> others = random_factors(join, t, seed, context);
            const Buffer<double> found = messages.beside(t, context),
                                 expected =
                                     InsideOut<SumProduct, RowFactors<SumProduct>>(join, t, {others}, context).values();
            ASSERT_TRUE(std::ranges::equal(found.span(), expected.span())); // to the last bit
        }
        large += join.tables().size() > 4;
    }
    EXPECT_GT(large, 100U);
}

TEST(BothWays, CanBeCancelled) {
    QuietContext quiet;
    const uint64_t rows = 3'000'000;
    std::vector<Table> tables(3);
    for (Table& table : tables) {
        table.rows = rows;
        table.keys.push_back({0, Buffer<Key>(quiet.memory(), "a test", rows)});
        for (uint64_t row = 0; row < rows; row++) table.keys[0].values[row] = static_cast<Key>(row % 1000);
    }
    const Join join(std::move(tables), {}, quiet);
    const std::vector<Buffer<double>> factors = random_factors(join, -1, 1, quiet);
    for (const int threads : {1, 3}) {
        ImpatientContext context(2, threads);
        ThreadTeam team(context);
        EXPECT_THROW((BothWays<SumProduct>(join, factors, team, context)), Cancelled);
        EXPECT_EQ(context.memory().used(), 0U);
    }
}

} // namespace
} // namespace btml::relational
