#include "core/relational/join/join_rows.hpp"

#include "core/relational/join/join_dataset.hpp"

#include "caught.hpp"
#include "random_join.hpp"

#include <gtest/gtest.h>

namespace btml::relational {
namespace {

using namespace test;
using btml::test::Caught;
using btml::test::caught;
using btml::test::ImpatientContext;

// The tuples with the rows as made, sorted.
std::vector<Tuple> tuples_of(const Join& join, const JoinRows& rows) {
    std::vector<Tuple> tuples(rows.rows);
    for (size_t t = 0; t < static_cast<size_t>(join.relations()); t++)
        for (uint64_t i = 0; i < rows.rows; i++) {
            const bool identity = rows.row_ids[t].empty();
            tuples[i].push_back(original_row(join, static_cast<int>(t), identity ? i : rows.row_ids[t][i]));
        }
    std::sort(tuples.begin(), tuples.end());
    return tuples;
}

void expect_shape(const Join& join, const JoinRows& rows) {
    ASSERT_EQ(rows.row_ids.size(), join.tables().size());
    if (rows.rows == 0) return;
    bool some_table_is_as_long = false, some_is_the_join = false;
    for (size_t t = 0; t < join.tables().size(); t++) {
        const bool identity = rows.row_ids[t].empty(), is_as_long = join.tables()[t].rows == rows.rows;
        EXPECT_EQ(rows.row_ids[t].size(), identity ? 0 : rows.rows);
        for (RowId row : rows.row_ids[t]) EXPECT_LT(row, join.tables()[t].rows);
        if (identity) {
            EXPECT_TRUE(is_as_long);
        }
        some_table_is_as_long |= is_as_long;
        some_is_the_join |= identity;
    }
    EXPECT_EQ(some_is_the_join, some_table_is_as_long);
}

void expect_nested_loops(const RandomShape& shape) {
    int with_identity = 0;
    for (uint64_t seed = 0; seed < 600; seed++) {
        SCOPED_TRACE(seed);
        QuietContext context;
        const PlainJoin plain = random_join(seed + 40'000, shape);
        const Join join = columnar(plain, context);
        const uint64_t held = context.memory().used();
        const uint64_t bytes = enumeration_bytes(join, context);
        const JoinRows rows = enumerate(join, context);
        expect_shape(join, rows);
        EXPECT_EQ(tuples_of(join, rows), brute_force(plain));
        EXPECT_EQ(context.memory().used() - held, bytes);
        with_identity +=
            std::any_of(rows.row_ids.begin(), rows.row_ids.end(), [](const auto& ids) { return ids.empty(); });
        if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(with_identity, 100);
    EXPECT_LT(with_identity, 500);
}

TEST(JoinRows, EqualNestedLoops) {
    expect_nested_loops({});
}

TEST(JoinRows, OfCyclicJoinsEqualNestedLoops) {
    expect_nested_loops(cyclic_shape);
}

PlainTable table_of(std::vector<int> attributes, std::vector<Column> keys, int rows) {
    return {std::move(attributes), std::move(keys), rows, std::vector<double>(static_cast<size_t>(rows), 1.0)};
}

PlainJoin product_of(const std::vector<int>& rows) {
    PlainJoin plain;
    for (int count : rows) plain.tables.push_back(table_of({}, {}, count));
    return plain;
}

TEST(JoinRows, FactTableOfForeignKeysIsNotListed) {
    QuietContext context;
    const PlainJoin plain{
        {table_of({0}, {{0, 1, 2}}, 3), table_of({0, 1}, {{2, 0, 2, 1}, {0, 1, 1, 0}}, 4), table_of({1}, {{1, 0}}, 2)},
        {}};
    const Join join = columnar(plain, context);
    const JoinRows rows = enumerate(join, context);
    EXPECT_TRUE(rows.row_ids[1].empty());
    EXPECT_EQ(std::vector<RowId>(rows.row_ids[0].begin(), rows.row_ids[0].end()), (std::vector<RowId>{2, 0, 2, 1}));
    EXPECT_EQ(std::vector<RowId>(rows.row_ids[2].begin(), rows.row_ids[2].end()), (std::vector<RowId>{1, 0, 0, 1}));
    EXPECT_EQ(enumeration_bytes(join, context), 2 * 4 * 4U);
}

TEST(JoinRows, LargestTableGivesTheOrder) {
    QuietContext context;
    const Join join = columnar(product_of({2, 3}), context);
    const JoinRows rows = enumerate(join, context);
    for (const Buffer<RowId>& ids : rows.row_ids) EXPECT_FALSE(ids.empty());
    EXPECT_EQ(std::vector<RowId>(rows.row_ids[1].begin(), rows.row_ids[1].end()),
              (std::vector<RowId>{0, 0, 1, 1, 2, 2}));
}

// Many blocks of tuples, and rows with more partners than a block.
TEST(JoinRows, LongLists) {
    QuietContext context;
    const PlainJoin plain = product_of({3, 200'000, 2});
    const Join join = columnar(plain, context);
    const JoinRows rows = enumerate(join, context);
    EXPECT_EQ(rows.rows, 1'200'000U);
    const std::vector<Tuple> tuples = tuples_of(join, rows);
    EXPECT_EQ(std::adjacent_find(tuples.begin(), tuples.end()), tuples.end());

    Column one_key_mostly(1'800, 7);
    for (size_t i = 0; i < one_key_mostly.size(); i += 3) one_key_mostly[i] = static_cast<Key>(i);
    const PlainJoin skewed{{table_of({0}, {one_key_mostly}, 1'800), table_of({0, 1}, {{7, 3, 7}, {1, 2, 1}}, 3),
                            table_of({1}, {Column(1'100, 1)}, 1'100)},
                           {}};
    const Join skewed_join = columnar(skewed, context);
    const JoinRows skewed_rows = enumerate(skewed_join, context);
    EXPECT_EQ(skewed_rows.rows, skewed_join.count(context));
    const std::vector<Tuple> skewed_tuples = tuples_of(skewed_join, skewed_rows);
    EXPECT_EQ(std::adjacent_find(skewed_tuples.begin(), skewed_tuples.end()), skewed_tuples.end());
    for (const Tuple& tuple : skewed_tuples) ASSERT_TRUE(extends(skewed, tuple, 1) && extends(skewed, tuple, 2));
}

TEST(JoinRows, RefusesMoreRowsThanRowNumbers) {
    QuietContext context;
    const Join join = columnar(product_of({1 << 16, 1 << 16}), context);
    const Caught error = caught([&] { enumerate(join, context); });
    EXPECT_EQ(error.code, ErrorCode::limit_exceeded);
    EXPECT_EQ(error.message, "the join has 4294967296 rows, at most 4294967294 can be enumerated");
    EXPECT_EQ(enumeration_bytes(join, context), uint64_t{1} << 35);
}

TEST(JoinRows, RefusesWhatDoesNotFitBeforeAnyWork) {
    QuietContext context(1, 16 << 20);
    const Join join = columnar(product_of({5'000, 5'000}), context);
    const uint64_t held = context.memory().used();
    const Caught error = caught([&] { enumerate(join, context); });
    EXPECT_EQ(error.code, ErrorCode::memory_limit);
    const uint64_t kilobytes = (held + 25'000'000ULL * 8 + 4 * (5'000 + 3) + 1023) / 1024;
    EXPECT_EQ(error.message, format("memory required is %llu kB, btml.memory_limit is 16384 kB",
                                    static_cast<unsigned long long>(kilobytes)));
    EXPECT_EQ(error.detail, "The memory was to hold the rows of a join as row numbers.");
    EXPECT_EQ(context.memory().used(), held);
}

// The greatest memory held at one time stays within what was required before.
TEST(JoinRows, HoldsNoMoreThanItAskedFor) {
    const PlainJoin plain = product_of({300, 200, 3});
    int held = 0, refused = 0;
    for (uint64_t limit = 700'000; limit < 3'000'000; limit += 50'000) {
        QuietContext context(1, limit);
        const Join join = columnar(plain, context);
        try {
            enumerate(join, context);
            held++;
        } catch (const Error& error) { // never half way, with arrays held already
            EXPECT_EQ(error.code(), ErrorCode::memory_limit);
            EXPECT_NE(error.message().find(
                          format("%llu kB", static_cast<unsigned long long>(
                                                (context.memory().used() + 180'000 * 12 + 4 * 203 + 1023) / 1024))),
                      std::string::npos);
            EXPECT_EQ(held, 0) << "refused with " << limit << " bytes, though fewer were enough";
            refused++;
        }
    }
    EXPECT_GT(held, 0);
    EXPECT_GT(refused, 0);
}

TEST(JoinRows, CanBeCancelledAnywhere) {
    QuietContext quiet;
    const Join join = columnar(product_of({30, 20, 4'000}), quiet);
    uint64_t polls = 0;
    for (bool finished = false; !finished; polls++) {
        ImpatientContext context(polls);
        try {
            enumerate(join, context);
            finished = true;
        } catch (const Cancelled&) {
        }
        EXPECT_EQ(context.memory().used(), 0U);
    }
    EXPECT_GT(polls, 10U);
}

TEST(JoinRows, CategoriesThatNoRowHasAreDroppedPolitely) {
    constexpr size_t count = 300'000;
    ImpatientContext context;
    DataColumn column{
        "label", DataColumn::Kind::category, {context.memory(), "a test"}, {context.memory(), "a test"}, {}};
    for (size_t code = 0; code < count; code++) column.categories.push_back(std::to_string(code));
    for (const uint32_t code : {7U, 299'999U, DataColumn::null_code, 7U}) column.codes.push_back(code);
    drop_unused_categories(column, context);
    EXPECT_EQ(column.categories, (std::vector<std::string>{"7", "299999"}));
    EXPECT_EQ((std::vector<uint32_t>{column.codes.begin(), column.codes.end()}),
              (std::vector<uint32_t>{0, 1, DataColumn::null_code, 0}));
    EXPECT_GT(context.polls, 0U);
}

} // namespace
} // namespace btml::relational
