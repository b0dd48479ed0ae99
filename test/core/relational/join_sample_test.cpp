#include "core/relational/queries/join_sample.hpp"

#include "caught.hpp"
#include "random_join.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

namespace btml::relational {
namespace {

using namespace test;
using btml::test::Caught;
using btml::test::caught;
using btml::test::ImpatientContext;

// Gives each row the hash of its number in its table.
PlainJoin with_contents(PlainJoin plain) {
    for (size_t t = 0; t < plain.tables.size(); t++) {
        plain.tables[t].content.clear();
        for (int row = 0; row < plain.tables[t].rows; row++)
            plain.tables[t].content.push_back(random_bits(t, 7, static_cast<uint64_t>(row)));
    }
    return plain;
}

PlainTable table_of(std::vector<int> attributes, std::vector<Column> keys, int rows) {
    return {std::move(attributes), std::move(keys), rows, std::vector<double>(static_cast<size_t>(rows), 1.0)};
}

PlainJoin product_of(const std::vector<int>& rows) {
    PlainJoin plain;
    for (int count : rows) plain.tables.push_back(table_of({}, {}, count));
    return with_contents(std::move(plain));
}

// Tables of so many rows in a chain, each row of one joined to each of the next.
PlainJoin chain_of(size_t tables, int rows) {
    PlainJoin plain;
    const Column keys(static_cast<size_t>(rows), 3);
    for (size_t t = 0; t < tables; t++)
        plain.tables.push_back(table_of({static_cast<int>(t), static_cast<int>(t) + 1}, {keys, keys}, rows));
    return with_contents(std::move(plain));
}

// The tuples with the rows as made, in the order of the sample.
std::vector<Tuple> tuples_of(const Join& join, const JoinRows& rows) {
    std::vector<Tuple> tuples(rows.rows);
    for (int t = 0; t < join.relations(); t++)
        for (uint64_t i = 0; i < rows.rows; i++)
            tuples[i].push_back(original_row(join, t, rows.row_ids[static_cast<size_t>(t)][i]));
    return tuples;
}

std::vector<Tuple> sorted(std::vector<Tuple> tuples) {
    std::sort(tuples.begin(), tuples.end());
    return tuples;
}

// χ² of counts that should be equal, in standard deviations above its mean; `shrink` is how much less than a
// multinomial's their variance is.
double excess(const std::vector<int>& counts, double shrink = 1) {
    const double cells = static_cast<double>(counts.size()),
                 mean = std::accumulate(counts.begin(), counts.end(), 0.0) / cells;
    double sum = 0;
    for (int count : counts) sum += (count - mean) * (count - mean) / mean;
    const double freedom = cells - 1;
    return (sum / shrink - freedom) / std::sqrt(2 * freedom);
}

// Draws sets of n rows with many seeds: how often each row is among them, by its place among the rows of brute force.
std::vector<int> inclusions(const Join& join, const std::vector<Tuple>& rows, uint64_t n, int draws) {
    QuietContext context;
    JoinSampler sampler(join, {}, context);
    std::vector<int> counts(rows.size(), 0);
    for (int seed = 0; seed < draws; seed++) {
        const std::vector<Tuple> drawn = sorted(tuples_of(join, sampler.draw(n, static_cast<uint64_t>(seed), 0)));
        EXPECT_EQ(drawn.size(), n);
        EXPECT_EQ(std::adjacent_find(drawn.begin(), drawn.end()), drawn.end());
        for (const Tuple& tuple : drawn) {
            const auto at = std::lower_bound(rows.begin(), rows.end(), tuple);
            EXPECT_TRUE(at != rows.end() && *at == tuple);
            if (at != rows.end()) counts[static_cast<size_t>(at - rows.begin())]++;
        }
    }
    return counts;
}

void expect_uniform(const RandomShape& shape, int min_joins) {
    QuietContext context;
    int joins = 0;
    double sum = 0;
    for (uint64_t seed = 0; seed < 250; seed++) {
        SCOPED_TRACE(seed);
        const PlainJoin plain = with_contents(random_join(seed + 70'000, shape));
        const std::vector<Tuple> rows = brute_force(plain);
        if (rows.size() < 3 || rows.size() > 60) continue;
        const Join join = columnar(plain, context);
        const uint64_t n = 1 + seed % (rows.size() - 1);
        const double share = static_cast<double>(n) / static_cast<double>(rows.size());
        const double above = excess(inclusions(join, rows, n, 400), (1 - share) * static_cast<double>(rows.size()) /
                                                                        static_cast<double>(rows.size() - 1));
        EXPECT_LT(above, 6);
        sum += above;
        joins++;
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(joins, min_joins);
    EXPECT_LT(std::abs(sum), 4 * std::sqrt(joins)); // χ² is neither too large nor too small
}

TEST(JoinSample, IsUniformOverTheRows) {
    expect_uniform({}, 60);
}

TEST(JoinSample, IsUniformOverTheRowsOfCyclicJoins) {
    expect_uniform(cyclic_shape, 60);
}

TEST(JoinSample, IsUniformOverTheRowsOfLeftJoins) {
    expect_uniform({.min_tables = 2, .max_tables = 5, .left_join = 0.9}, 60);
}

// A star, a triangle whose keys repeat, and many to many: rows of unequal numbers of partners.
PlainJoin star() {
    return {{table_of({0, 1}, {{0, 0, 1, 2}, {0, 1, 1, 0}}, 4), table_of({0}, {{0, 0, 0, 1, 5}}, 5),
             table_of({1}, {{0, 1, 1}}, 3)},
            {}};
}

PlainJoin triangle() {
    return {{table_of({0, 1}, {{0, 0, 1, 1, 1}, {0, 1, 0, 1, 1}}, 5), table_of({1, 2}, {{0, 1, 1, 0}, {0, 0, 1, 1}}, 4),
             table_of({2, 0}, {{0, 1, 1}, {0, 1, 0}}, 3)},
            {}};
}

PlainJoin many_to_many() {
    return {{table_of({0}, {{0, 0, 1}}, 3), table_of({0}, {{0, 1, 1, 0, 0}}, 5)}, {}};
}

TEST(JoinSample, DrawsEveryPairOfRowsAlike) {
    for (const PlainJoin& made : {star(), triangle(), many_to_many()}) {
        QuietContext context;
        const PlainJoin plain = with_contents(made);
        const Join join = columnar(plain, context);
        const std::vector<Tuple> rows = brute_force(plain);
        ASSERT_GT(rows.size(), 5U);
        JoinSampler sampler(join, {}, context);
        EXPECT_EQ(static_cast<uint64_t>(sampler.count()), rows.size());
        std::map<std::vector<Tuple>, int> seen;
        for (uint64_t seed = 0; seed < 20'000; seed++) seen[sorted(tuples_of(join, sampler.draw(2, seed, 0)))]++;
        EXPECT_EQ(seen.size(), rows.size() * (rows.size() - 1) / 2);
        std::vector<int> counts;
        for (const auto& [pair, count] : seen) counts.push_back(count);
        EXPECT_LT(std::abs(excess(counts)), 4);
    }
}

TEST(JoinSample, OfNoneOneAndAllRows) {
    for (uint64_t seed = 0; seed < 200; seed++) {
        SCOPED_TRACE(seed);
        QuietContext context;
        const PlainJoin plain = with_contents(random_join(seed + 80'000, seed % 2 ? cyclic_shape : RandomShape{}));
        const Join join = columnar(plain, context);
        const std::vector<Tuple> rows = brute_force(plain);
        JoinSampler sampler(join, {}, context);
        EXPECT_EQ(static_cast<uint64_t>(sampler.count()), rows.size());
        EXPECT_EQ(sampler.draw(0, seed, 0).rows, 0U);
        EXPECT_EQ(sampler.draw(1, seed, 0).rows, std::min<size_t>(1, rows.size()));
        EXPECT_EQ(sorted(tuples_of(join, sampler.draw(rows.size(), seed, 0))), rows);
        EXPECT_EQ(sorted(tuples_of(join, sampler.draw(UINT64_MAX, seed, 0))), rows);
        if (testing::Test::HasFailure()) return;
    }
}

// Rows of each table in another order, with their contents.
PlainJoin shuffled(const PlainJoin& plain, uint64_t seed) {
    Random random(seed);
    PlainJoin other = plain;
    for (size_t t = 0; t < plain.tables.size(); t++) {
        for (int row = plain.tables[t].rows; row > 1; row--) {
            const auto a = static_cast<size_t>(row - 1), b = static_cast<size_t>(random.below(row));
            PlainTable& table = other.tables[t];
            for (Column& keys : table.keys) std::swap(keys[a], keys[b]);
            for (PlainEdge& edge : other.edges) {
                if (edge.left == static_cast<int>(t))
                    for (Column& keys : edge.left_keys) std::swap(keys[a], keys[b]);
                if (edge.right == static_cast<int>(t))
                    for (Column& keys : edge.right_keys) std::swap(keys[a], keys[b]);
            }
            std::swap(table.content[a], table.content[b]);
        }
    }
    return other;
}

// The contents of the sampled rows, in the order of the sample; null rows have 1.
std::vector<std::vector<uint64_t>> contents_of(const PlainJoin& plain, const std::vector<Tuple>& tuples) {
    std::vector<std::vector<uint64_t>> contents;
    for (const Tuple& tuple : tuples) {
        contents.emplace_back();
        for (size_t t = 0; t < tuple.size(); t++)
            contents.back().push_back(tuple[t] < 0 ? 1 : plain.tables[t].content[static_cast<size_t>(tuple[t])]);
    }
    return contents;
}

TEST(JoinSample, DoesNotDependOnWhereRowsLie) {
    int drawn_some = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        SCOPED_TRACE(seed);
        const PlainJoin plain = with_contents(random_join(seed + 90'000, seed % 2 ? cyclic_shape : RandomShape{}));
        const PlainJoin other = shuffled(plain, seed);
        QuietContext context, threads(4);
        const Join join = columnar(plain, context), other_join = columnar(other, threads);
        JoinSampler sampler(join, {}, context), other_sampler(other_join, {}, threads);
        const uint64_t n = 1 + static_cast<uint64_t>(sampler.count()) / 3;
        const auto drawn = contents_of(plain, tuples_of(join, sampler.draw(n, seed, 3)));
        EXPECT_EQ(drawn, contents_of(other, tuples_of(other_join, other_sampler.draw(n, seed, 3))));
        drawn_some += n > 2;
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(drawn_some, 100);
}

TEST(JoinSample, DoesNotDependOnThreads) {
    QuietContext context, threads(4);
    const Join join = columnar(product_of({300, 200, 30}), context);
    const auto drawn = [&](RunContext& with) {
        return tuples_of(join, JoinSampler(join, {}, with).draw(200'000, 5, 0));
    };
    EXPECT_EQ(drawn(context), drawn(threads));
}

TEST(JoinSample, DependsOnSeedAndStream) {
    QuietContext context;
    const Join join = columnar(product_of({50, 60}), context);
    JoinSampler sampler(join, {}, context);
    const auto drawn = [&](uint64_t seed, uint64_t stream) { return tuples_of(join, sampler.draw(9, seed, stream)); };
    EXPECT_EQ(drawn(5, 0), drawn(5, 0));
    EXPECT_NE(drawn(5, 0), drawn(6, 0));
    EXPECT_NE(drawn(5, 0), drawn(5, 1));
}

// The kept rows' part of the join and that of the others are samples apart.
TEST(JoinSample, OfFilteredRows) {
    for (uint64_t seed = 0; seed < 100; seed++) {
        SCOPED_TRACE(seed);
        QuietContext context;
        const PlainJoin plain = with_contents(random_join(seed + 95'000));
        const Join join = columnar(plain, context);
        const std::vector<Tuple> rows = brute_force(plain);
        std::vector<Tuple> both;
        for (uint8_t side : {0, 1}) {
            const int table = static_cast<int>(seed % plain.tables.size());
            RowFilter filter{table,
                             RowMask(context.memory(), "a test", join.tables()[static_cast<size_t>(table)].rows)};
            for (size_t row = 0; row < filter.kept.size(); row++)
                filter.kept[row] = static_cast<uint8_t>((original_row(join, table, row) + 1) % 2 == side);
            JoinSampler sampler(join, std::move(filter), context);
            const auto count = static_cast<uint64_t>(sampler.count());
            const std::vector<Tuple> all = tuples_of(join, sampler.draw(count, seed, side));
            EXPECT_EQ(all.size(), count);
            both.insert(both.end(), all.begin(), all.end());
            for (const Tuple& tuple : tuples_of(join, sampler.draw(count / 2, seed, side)))
                EXPECT_EQ((tuple[static_cast<size_t>(table)] + 1) % 2, side);
        }
        EXPECT_EQ(sorted(both), rows);
        if (testing::Test::HasFailure()) return;
    }
}

TEST(JoinSample, OfMoreRowsThan64BitsCount) {
    QuietContext context;
    const Join join = columnar(chain_of(25, 10), context);
    JoinSampler sampler(join, {}, context);
    const WideCount tens = WideCount{10'000'000'000'000ULL} * 1'000'000'000'000ULL; // 10^25
    EXPECT_TRUE(sampler.count() == tens);
    const std::vector<Tuple> drawn = tuples_of(join, sampler.draw(4'000, 1, 0));
    EXPECT_EQ(drawn.size(), 4'000U);
    const std::vector<Tuple> in_order = sorted(drawn);
    EXPECT_EQ(std::adjacent_find(in_order.begin(), in_order.end()), in_order.end());
    for (size_t t = 0; t < 25; t++) {
        std::vector<int> counts(10, 0), steps(100, 0);
        for (const Tuple& tuple : drawn) {
            counts[static_cast<size_t>(tuple[t])]++;
            steps[static_cast<size_t>(tuple[t] * 10 + tuple[(t + 1) % 25])]++;
        }
        EXPECT_LT(std::abs(excess(counts)), 5);
        EXPECT_LT(std::abs(excess(steps)), 5);
    }
}

TEST(JoinSample, RefusesMoreRowsThanItCounts) {
    QuietContext context;
    const Join largest = columnar(chain_of(127, 2), context), larger = columnar(chain_of(128, 2), context);
    JoinSampler sampler(largest, {}, context);
    EXPECT_TRUE(sampler.count() == WideCount{1} << 127);
    EXPECT_EQ(sampler.draw(5, 0, 0).rows, 5U);
    const Caught error = caught([&] { JoinSampler(larger, {}, context); });
    EXPECT_EQ(error.code, ErrorCode::out_of_range);
    EXPECT_EQ(error.message, "the join has more than 2^127 rows, the most that can be sampled from");
}

TEST(JoinSample, RefusesMoreRowsThanRowNumbers) {
    QuietContext context;
    const Join join = columnar(product_of({1 << 16, 1 << 17}), context);
    JoinSampler sampler(join, {}, context);
    const Caught error = caught([&] { sampler.draw(UINT64_MAX, 0, 0); });
    EXPECT_EQ(error.code, ErrorCode::limit_exceeded);
    EXPECT_EQ(error.message, "a sample of 8589934592 rows, at most 4294967294 can be drawn");
}

TEST(JoinSample, NeedsContents) {
    QuietContext context;
    const Join join = columnar(many_to_many(), context);
    EXPECT_EQ(caught([&] { JoinSampler(join, {}, context); }).code, ErrorCode::internal);
}

// Refused before any work, or never: with whatever limit.
TEST(JoinSample, HoldsNoMoreThanItAskedFor) {
    const PlainJoin plain = product_of({300, 200, 3});
    int refused = 0, drawn = 0;
    for (uint64_t limit = 100'000; limit < 3'000'000; limit += 20'000)
        for (uint64_t n : {1'000, 50'000, 100'000, 180'000}) {
            QuietContext context(1, limit);
            const Join join = columnar(plain, context);
            JoinSampler sampler(join, {}, context);
            const uint64_t held = context.memory().used();
            const Caught error = caught([&] { drawn += sampler.draw(n, 0, 0).rows > 0; });
            EXPECT_EQ(context.memory().used(), held);
            if (!error.thrown) continue;
            refused++;
            EXPECT_EQ(error.code, ErrorCode::memory_limit);
            EXPECT_EQ(error.detail, "The memory was to hold a sample of a join's rows.");
            const uint64_t bytes =
                n * 16 + std::max<uint64_t>(n * 12 + 300 * 20 + 5 + 8, n == 100'000 ? 80'000 * 16 : 0);
            EXPECT_NE(error.message.find(
                          format("%llu kB, btml", static_cast<unsigned long long>((held + bytes + 1023) / 1024))),
                      std::string::npos)
                << error.message;
        }
    EXPECT_GT(refused, 50);
    EXPECT_GT(drawn, 50);
}

TEST(JoinSample, CanBeCancelledAnywhere) {
    QuietContext quiet;
    const Join join = columnar(product_of({30, 200, 20'000}), quiet);
    uint64_t polls = 0;
    for (bool finished = false; !finished; polls++) {
        ImpatientContext context(polls);
        try {
            JoinSampler(join, {}, context).draw(100'000, 0, 0);
            finished = true;
        } catch (const Cancelled&) {
        }
        EXPECT_EQ(context.memory().used(), 0U);
    }
    EXPECT_GT(polls, 10U);
}

TEST(DrawRanks, DrawsEverySetAlike) {
    QuietContext context;
    EXPECT_TRUE(draw_ranks(0, 5, 1, 0, context).empty());
    for (uint64_t n = 0; n <= 7; n++) {
        std::map<std::vector<uint64_t>, int> seen;
        for (uint64_t seed = 0; seed < 6'000; seed++) {
            std::vector<uint64_t> set;
            for (WideCount rank : draw_ranks(6, n, seed, 1, context)) set.push_back(static_cast<uint64_t>(rank));
            EXPECT_EQ(set.size(), std::min<uint64_t>(n, 6));
            seen[set]++;
        }
        const std::vector<size_t> sets{1, 6, 15, 20, 15, 6, 1, 1}; // 6 choose n
        EXPECT_EQ(seen.size(), sets[n]);
        std::vector<int> counts;
        for (const auto& [set, count] : seen) {
            EXPECT_EQ(std::adjacent_find(set.begin(), set.end(), std::greater_equal<>()), set.end());
            counts.push_back(count);
        }
        if (counts.size() > 1) {
            EXPECT_LT(std::abs(excess(counts)), 4);
        }
    }
}

TEST(DrawRanks, AreUniformBeyond64Bits) {
    QuietContext context;
    const WideCount count = (WideCount{3} << 64) + 12'345; // not a power of two
    std::vector<int> high(3, 0), low(16, 0);
    for (WideCount rank : draw_ranks(count, 30'000, 1, 0, context)) {
        ASSERT_TRUE(rank < count);
        high[std::min<size_t>(2, static_cast<size_t>(rank >> 64))]++;
        low[static_cast<size_t>(rank & 15)]++;
    }
    EXPECT_LT(std::abs(excess(high)), 4);
    EXPECT_LT(std::abs(excess(low)), 4);
}

} // namespace
} // namespace btml::relational
