#include "core/relational/join/bags.hpp"

#include "caught.hpp"
#include "random_join.hpp"

#include "core/relational/join/join_rows.hpp"

#include <gtest/gtest.h>

namespace btml::relational {
namespace {

using namespace test;
using btml::test::Caught;
using btml::test::caught;
using btml::test::ImpatientContext;

PlainTable table_of(std::vector<int> attributes, std::vector<Column> keys) {
    const size_t rows = keys.front().size();
    return {std::move(attributes), std::move(keys), static_cast<int>(rows), std::vector<double>(rows, 1.0)};
}

// All pairs of `values` values.
PlainTable grid(int a, int b, int values) {
    std::vector<Column> keys(2);
    for (int i = 0; i < values * values; i++) {
        keys[0].push_back(static_cast<Key>(i / values));
        keys[1].push_back(static_cast<Key>(i % values));
    }
    return table_of({a, b}, keys);
}

PlainJoin cycle_of_grids(int length, int values) {
    PlainJoin plain;
    for (int v = 0; v < length; v++) plain.tables.push_back(grid(v, (v + 1) % length, values));
    return plain;
}

uint64_t bag_rows(const Join& join, size_t bag) {
    return join.tables()[static_cast<size_t>(join.relations()) + bag].rows;
}

TEST(Bags, TriangleReachesItsAgmBound) {
    QuietContext context;
    const Join join = columnar(cycle_of_grids(3, 20), context);
    const CyclicPart& cycles = join.cycles();
    ASSERT_EQ(cycles.bags.size(), 1U);
    EXPECT_EQ(join.relations(), 3);
    EXPECT_NEAR(cycles.width, 1.5, 1e-9);
    EXPECT_TRUE(cycles.exact);
    EXPECT_EQ(cycles.bags[0].attributes, (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(cycles.bags[0].tables, (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(cycles.bags[0].agm_bound, 8'000); // 400^1.5
    EXPECT_EQ(bag_rows(join, 0), 8'000U);
    EXPECT_EQ(join.rows_read(3), 8'000U);
    EXPECT_EQ(join.count(context), 8'000U);
    EXPECT_EQ(join.tree().root(), 3);
    EXPECT_EQ(join.tables()[3].name, "bag of t0, t1, t2");
}

TEST(Bags, SquareHasTwo) {
    QuietContext context;
    const Join join = columnar(cycle_of_grids(4, 7), context);
    const CyclicPart& cycles = join.cycles();
    ASSERT_EQ(cycles.bags.size(), 2U);
    EXPECT_NEAR(cycles.width, 2, 1e-9);
    for (size_t b = 0; b < 2; b++) {
        EXPECT_EQ(cycles.bags[b].attributes.size(), 3U);
        EXPECT_EQ(cycles.bags[b].tables.size(), 2U); // the two tables that cover it
        EXPECT_EQ(cycles.bags[b].agm_bound, 343);    // 49 · 7: a third of its attributes is bounded by 7 values
        EXPECT_EQ(bag_rows(join, b), 343U);
    }
    EXPECT_EQ(join.count(context), 7U * 7 * 7 * 7);
}

// A pentagon's middle bag has an attribute that no table within it has: it joins what others have of it.
TEST(Bags, BeyondTheirOwnTables) {
    QuietContext context;
    const Join join = columnar(cycle_of_grids(5, 3), context);
    ASSERT_EQ(join.cycles().bags.size(), 3U);
    size_t wider = 0;
    for (const Bag& bag : join.cycles().bags) wider += bag.tables.size() > 2;
    EXPECT_GE(wider, 1U);
    EXPECT_EQ(join.count(context), 243U);
    EXPECT_EQ(enumerate(join, context).rows, 243U);
}

// A bag has every combination of keys once, however many rows the tables have of it.
TEST(Bags, DuplicatesStayInTheTables) {
    QuietContext context;
    const int copies = 100;
    PlainJoin plain;
    for (int v = 0; v < 3; v++)
        plain.tables.push_back(table_of({v, (v + 1) % 3}, {Column(copies, 1), Column(copies, 2 - v / 2)}));
    plain.tables[1] = table_of({1, 2}, {Column(copies, 2), Column(copies, 1)});
    plain.tables[2] = table_of({2, 0}, {Column(copies, 1), Column(copies, 1)});
    const Join join = columnar(plain, context);
    EXPECT_EQ(bag_rows(join, 0), 1U);
    EXPECT_EQ(join.cycles().bags[0].agm_bound, 1);
    EXPECT_EQ(join.count(context), 1'000'000U);
    for (uint64_t n : counts_by_row(join, 0, context)) EXPECT_EQ(n, 10'000U);
}

// What hangs on a cycle is joined after its keys have made the bag smaller, from however far.
TEST(Bags, ConditionsAroundTheCycleComeFirst) {
    QuietContext context;
    PlainJoin plain = cycle_of_grids(3, 20);
    plain.tables.push_back(table_of({0, 7}, {{3, 4, 5}, {0, 1, 2}}));
    plain.tables.push_back(table_of({7}, {{1}}));
    const Join join = columnar(plain, context);
    EXPECT_EQ(join.rows_read(5), 400U);                // only the value 4 of attribute 0
    EXPECT_EQ(join.cycles().bags[0].agm_bound, 1'788); // √(20 · 400 · 400)
    EXPECT_EQ(join.count(context), 400U);
}

TEST(Bags, OnlyCyclesAreMaterialised) {
    QuietContext context;
    PlainJoin plain = cycle_of_grids(3, 4);
    plain.tables.push_back(grid(2, 3, 4)); // a bridge to another triangle, and a table apart
    for (int v = 3; v < 6; v++) plain.tables.push_back(grid(v, v == 5 ? 3 : v + 1, 4));
    plain.tables.push_back(grid(8, 9, 4));
    const Join join = columnar(plain, context);
    ASSERT_EQ(join.cycles().bags.size(), 2U);
    EXPECT_EQ(bag_rows(join, 0) + bag_rows(join, 1), 128U);
    EXPECT_EQ(join.count(context), 64U * 64 * 16);
}

TEST(Bags, EmptyTablesMakeEmptyBags) {
    QuietContext context;
    PlainJoin plain = cycle_of_grids(3, 4);
    plain.tables[1] = table_of({1, 2}, {{}, {}});
    const Join join = columnar(plain, context);
    EXPECT_EQ(join.cycles().bags[0].agm_bound, 0);
    EXPECT_EQ(join.count(context), 0U);
    for (const Table& table : join.tables()) EXPECT_EQ(table.rows, 0U);
}

TEST(Bags, KeysOfABagAreGivenBack) {
    QuietContext context;
    const Join join = columnar(cycle_of_grids(3, 20), context);
    EXPECT_TRUE(join.tables()[3].keys.empty());
    const uint64_t columns = 512 * (2 * sizeof(double) + sizeof(uint32_t)); // with the room that appending made
    const uint64_t tables = 3 * (columns + 400 * 3 * sizeof(Key));
    EXPECT_EQ(context.memory().used(), tables + 8'000 * 3 * sizeof(Key));
}

TEST(Bags, RefusesABagBeyondTheMemoryLimit) {
    const PlainJoin plain = cycle_of_grids(3, 60);
    QuietContext context(1, 3 << 20);
    const Caught error = caught([&] { columnar(plain, context); });
    EXPECT_EQ(error.code, ErrorCode::memory_limit);
    unsigned long long required = 0, limit = 0;
    ASSERT_EQ(std::sscanf(error.message.c_str(), "memory required is %llu kB, btml.memory_limit is %llu kB", &required,
                          &limit),
              2);
    EXPECT_EQ(limit, 3072U);
    EXPECT_GT(required, 216'000U * 17 / 1024);
    EXPECT_LT(required, 216'000U * 17 / 1024 + 1024);
    EXPECT_EQ(error.detail, R"(The memory was to hold a bag of the cyclic join, the keys of "t0", "t1", "t2": )"
                            "it has 216000 rows, by the AGM bound at most 216000.");
    EXPECT_EQ(error.hint, "Raise btml.memory_limit, or read fewer rows of these tables.");
    EXPECT_EQ(context.memory().used(), 0U);
}

// A row of a 4-cycle's bag has two keys that the other bag has, too, the numbers of the rows of two tables that lie in
// it, a key of their separator, and whether it stays.
TEST(Bags, NumbersTheRowsOfTablesThatLieInABag) {
    QuietContext context(1, 3 << 20);
    const Caught error = caught([&] { columnar(cycle_of_grids(4, 60), context); });
    unsigned long long required = 0;
    ASSERT_EQ(std::sscanf(error.message.c_str(), "memory required is %llu kB", &required), 1);
    EXPECT_GT(required, 216'000U * 21 / 1024);
    EXPECT_LT(required, 216'000U * 21 / 1024 + 1024);
}

// Far beyond the limit the rows are not even counted.
TEST(Bags, StopsCountingWhatCannotFit) {
    const PlainJoin plain = cycle_of_grids(3, 120);
    QuietContext context(1, 3 << 20);
    const Caught error = caught([&] { columnar(plain, context); });
    EXPECT_EQ(error.code, ErrorCode::memory_limit);
    EXPECT_EQ(error.message.rfind("memory required is more than ", 0), 0U) << error.message;
    EXPECT_NE(error.detail.find("it has more than "), std::string::npos) << error.detail;
    EXPECT_NE(error.detail.find("at most 1728000."), std::string::npos) << error.detail;
}

// However little memory there is: refused, with nothing held.
TEST(Bags, AnyMemoryLimit) {
    const PlainJoin plain = cycle_of_grids(4, 12);
    bool made = false;
    for (uint64_t limit = 20'000; !made; limit += 10'000) {
        QuietContext context(1, limit);
        const Caught error = caught([&] { columnar(plain, context); });
        made = !error.thrown;
        if (error.thrown) {
            EXPECT_EQ(error.code, ErrorCode::memory_limit);
        }
        EXPECT_EQ(context.memory().used(), 0U);
    }
}

TEST(Bags, CanBeCancelledAnywhere) {
    PlainJoin plain = cycle_of_grids(3, 100);
    plain.tables.push_back(grid(2, 3, 100));
    uint64_t polls = 0;
    for (bool finished = false; !finished; polls++) {
        ImpatientContext context(polls);
        try {
            columnar(plain, context);
            finished = true;
        } catch (const Cancelled&) {
        }
        EXPECT_EQ(context.memory().used(), 0U);
    }
    EXPECT_GT(polls, 10U);
}

} // namespace
} // namespace btml::relational
