#include "caught.hpp"
#include "random_join.hpp"

#include "core/relational/join/inside_out.hpp"

#include <gtest/gtest.h>

#include <map>

namespace btml::relational {
namespace {

using namespace test;
using btml::test::Caught;
using btml::test::caught;
using btml::test::ExpiringContext;

std::vector<Tuple> kept_by(std::vector<Tuple> rows, size_t table, const std::function<bool(int)>& keep) {
    std::erase_if(rows, [&](const Tuple& tuple) { return !keep(tuple[table]); });
    return rows;
}

// The rows of one table that take part in the join, in the order of Join: as made, the null row last.
std::vector<int> rows_in(const std::vector<Tuple>& join_rows, size_t table) {
    std::set<unsigned> rows;
    for (const Tuple& tuple : join_rows) rows.insert(static_cast<unsigned>(tuple[table]));
    return {rows.begin(), rows.end()};
}

void expect_rows(const Join& join, const std::vector<Tuple>& expected) {
    for (size_t t = 0; t < static_cast<size_t>(join.relations()); t++) {
        const Table& table = join.tables()[t];
        const std::vector<int> rows = rows_in(expected, t);
        ASSERT_EQ(table.rows, rows.size()) << table.name;
        ASSERT_EQ(table.columns[0].numbers.size(), rows.size());
        ASSERT_EQ(table.columns[1].codes.size(), rows.size());
        for (size_t row = 0; row < rows.size(); row++) {
            EXPECT_EQ(table.columns[0].numbers[row], rows[row]);
            EXPECT_EQ(table.columns[1].codes[row], rows[row] < 0 ? null_row_code : static_cast<uint32_t>(rows[row]));
        }
    }
}

// Keys that a table keeps belong to the rows that it keeps.
void expect_keys(const Join& join, const PlainJoin& plain) {
    for (size_t t = 0; t < plain.tables.size(); t++) {
        std::set<int> attributes;
        for (const KeyColumn& key : join.tables()[t].keys) {
            EXPECT_TRUE(attributes.insert(key.attribute).second) << "an attribute twice";
            ASSERT_EQ(key.values.size(), join.tables()[t].rows);
            for (size_t i = 0; i < plain.tables[t].attributes.size(); i++) {
                if (plain.tables[t].attributes[i] != key.attribute) continue;
                for (uint64_t row = 0; row < key.values.size(); row++)
                    EXPECT_EQ(key.values[row], plain.key(t, i, original_row(join, static_cast<int>(t), row)));
            }
        }
    }
}

void expect_dense(const Buffer<Key>& keys, uint64_t count, uint64_t rows) {
    ASSERT_EQ(keys.size(), rows);
    const std::set<Key> distinct(keys.begin(), keys.end());
    EXPECT_EQ(distinct.size(), count);
    if (!distinct.empty()) {
        EXPECT_EQ(*distinct.rbegin(), count - 1);
    }
}

// Rows of two neighbours have the same key exactly if they agree in the attributes of their separator.
void expect_separators(const Join& join) {
    for (size_t c = 0; c < join.tables().size(); c++) {
        const JoinTree::Node& node = join.tree().nodes[c];
        const int child = static_cast<int>(c), parent = node.parent;
        if (parent < 0) {
            EXPECT_TRUE(join.separator(child).left.empty() && join.separator(child).right.empty());
            continue;
        }
        const Table &child_table = join.tables()[c], &parent_table = join.tables()[static_cast<size_t>(parent)];
        const KeyCodes& separator = join.separator(child);
        expect_dense(separator.left, separator.count, child_table.rows);
        expect_dense(separator.right, separator.count, parent_table.rows);
        EXPECT_EQ(&join.keys(child, parent), &separator.left);
        EXPECT_EQ(&join.keys(parent, child), &separator.right);
        EXPECT_EQ(join.key_count(parent, child), separator.count);
        if (std::max(child, parent) >= join.relations()) continue; // a bag has no keys to compare
        const auto value = [](const Table& table, int attribute, uint64_t row) {
            for (const KeyColumn& key : table.keys)
                if (key.attribute == attribute) return key.values[row];
            return null_key;
        };
        for (uint64_t i = 0; i < child_table.rows; i++)
            for (uint64_t j = 0; j < parent_table.rows; j++) {
                bool agree = true;
                for (int attribute : node.separator)
                    agree &= value(child_table, attribute, i) == value(parent_table, attribute, j);
                EXPECT_EQ(agree, separator.left[i] == separator.right[j]);
            }
    }
}

void expect_counts(const Join& join, const std::vector<Tuple>& expected, RunContext& context) {
    EXPECT_EQ(join.count(context), expected.size());
    for (int t = 0; t < join.relations(); t++) {
        std::map<int, uint64_t> of_row;
        for (const Tuple& tuple : expected) of_row[tuple[static_cast<size_t>(t)]]++;
        const Buffer<uint64_t> counts = counts_by_row(join, t, context);
        ASSERT_EQ(counts.size(), of_row.size());
        for (uint64_t row = 0; row < counts.size(); row++) EXPECT_EQ(counts[row], of_row[original_row(join, t, row)]);
    }
}

void expect_join(const Join& join, const PlainJoin& plain, const std::vector<Tuple>& rows, RunContext& context) {
    expect_rows(join, rows);
    expect_keys(join, plain);
    expect_separators(join);
    expect_counts(join, rows, context);
    for (size_t t = 0; t < plain.tables.size(); t++)
        EXPECT_EQ(join.rows_read(static_cast<int>(t)), static_cast<uint64_t>(plain.tables[t].rows));
}

TEST(Join, EqualsNestedLoops) {
    int not_empty = 0, with_null_rows = 0;
    for (uint64_t seed = 0; seed < 600; seed++) {
        SCOPED_TRACE(seed);
        QuietContext context;
        const PlainJoin plain = random_join(seed);
        const std::vector<Tuple> rows = brute_force(plain);
        expect_join(columnar(plain, context), plain, rows, context);
        EXPECT_EQ(context.memory().used(), 0U);
        not_empty += !rows.empty();
        with_null_rows += std::any_of(rows.begin(), rows.end(), [](const Tuple& tuple) {
            return std::find(tuple.begin(), tuple.end(), -1) != tuple.end();
        });
        if (HasFailure()) return;
    }
    EXPECT_GT(not_empty, 300); // the random joins are worth their name
    EXPECT_GT(with_null_rows, 50);
}

TEST(Join, CyclicOnesEqualNestedLoops) {
    int cyclic = 0, not_empty = 0, with_null_rows = 0, two_bags = 0, wide = 0;
    for (uint64_t seed = 0; seed < 800; seed++) {
        SCOPED_TRACE(seed);
        QuietContext context;
        const PlainJoin plain = random_join(seed + 50'000, cyclic_shape);
        const std::vector<Tuple> rows = brute_force(plain);
        const Join join = columnar(plain, context);
        expect_join(join, plain, rows, context);
        EXPECT_EQ(join.cycles().width > 1, !join.cycles().bags.empty());
        if (HasFailure()) return;
        if (join.cycles().bags.empty()) continue;
        cyclic++;
        not_empty += !rows.empty();
        two_bags += join.cycles().bags.size() > 1;
        wide += join.cycles().width > 1.5;
        with_null_rows += std::any_of(rows.begin(), rows.end(), [](const Tuple& tuple) {
            return std::find(tuple.begin(), tuple.end(), -1) != tuple.end();
        });
    }
    EXPECT_GT(cyclic, 200);
    EXPECT_GT(not_empty, 100);
    EXPECT_GT(with_null_rows, 10);
    EXPECT_GT(two_bags, 25);
    EXPECT_GT(wide, 25);
}

TEST(Join, NestedLeftJoins) {
    RandomShape shape;
    shape.left_join = 0.9;
    shape.null = 0.2;
    for (uint64_t seed = 0; seed < 300; seed++) {
        SCOPED_TRACE(seed);
        QuietContext context;
        const PlainJoin plain = random_join(seed, shape);
        expect_join(columnar(plain, context), plain, brute_force(plain), context);
        if (HasFailure()) return;
    }
}

TEST(Join, FilterEqualsJoiningTheFilteredRows) {
    for (uint64_t seed = 0; seed < 600; seed++) {
        SCOPED_TRACE(seed);
        QuietContext context;
        const PlainJoin plain = seed % 2 ? random_join(seed, cyclic_shape) : random_join(seed + 10'000);
        Join join = columnar(plain, context);
        std::vector<Tuple> rows = brute_force(plain);
        Random random(seed);
        for (int round = 0; round < 2; round++) {
            const int table = random.below(static_cast<int>(plain.tables.size()));
            const uint64_t salt = random_bits(seed, 2, static_cast<uint64_t>(round));
            const auto keep = [&](int row) { return random_bits(salt, 0, static_cast<uint64_t>(row)) % 4 != 0; };
            rows = kept_by(rows, static_cast<size_t>(table), keep);
            join.filter(
                table, [&](RowId row) { return keep(original_row(join, table, row)); }, context);
            expect_join(join, plain, rows, context);
        }
        if (HasFailure()) return;
    }
}

PlainTable table_of(std::vector<int> attributes, std::vector<Column> keys, int rows) {
    return {std::move(attributes), std::move(keys), rows, std::vector<double>(static_cast<size_t>(rows), 1.0)};
}

TEST(Join, KeysWithoutAPartnerColumnAreNoCondition) {
    QuietContext context;
    const PlainJoin plain{{table_of({0}, {{null_key, 1}}, 2)}, {}};
    EXPECT_EQ(columnar(plain, context).count(context), 2U);
}

TEST(Join, TwoColumnsOfOneAttributeMustBeEqual) {
    QuietContext context;
    const PlainJoin plain{{table_of({0, 0}, {{1, 2, null_key, 4}, {1, 3, null_key, 4}}, 4)}, {}};
    const Join join = columnar(plain, context);
    EXPECT_EQ(join.tables()[0].keys.size(), 1U);
    expect_rows(join, {{0}, {3}});
}

TEST(Join, LeftJoinKeepsEveryLeftRow) {
    QuietContext context;
    PlainJoin plain{{table_of({}, {}, 4), table_of({}, {}, 3)}, {}};
    plain.edges = {{0, 1, {{5, null_key, 6, 7}}, {{6, null_key, 6}}}};
    const Join join = columnar(plain, context);
    EXPECT_EQ(join.tables()[0].rows, 4U);
    expect_rows(join, {{0, -1}, {1, -1}, {2, 0}, {2, 2}, {3, -1}});
    EXPECT_EQ(join.rows_read(1), 3U);
}

TEST(Join, LeftJoinWithoutKeysMeetsTheNullRowOnlyOfAnEmptyTable) {
    QuietContext context;
    PlainJoin plain{{table_of({}, {}, 2), table_of({}, {}, 2)}, {{0, 1, {}, {}}}};
    expect_rows(columnar(plain, context), {{0, 0}, {0, 1}, {1, 0}, {1, 1}});
    plain.tables[1] = table_of({}, {}, 0);
    expect_rows(columnar(plain, context), {{0, -1}, {1, -1}});
}

// a LEFT JOIN (b LEFT JOIN c): where a meets no b, c is null too.
TEST(Join, NullRowOfAnOuterLeftJoinIsUnmatchedInTheInner) {
    QuietContext context;
    PlainJoin plain{{table_of({}, {}, 2), table_of({}, {}, 1), table_of({}, {}, 1)}, {}};
    plain.edges = {{1, 2, {{3}}, {{3}}}, {0, 1, {{1, 2}}, {{1}}}};
    const Join join = columnar(plain, context);
    expect_rows(join, {{0, 0, 0}, {1, -1, -1}});
    EXPECT_EQ(join.count(context), 2U);
}

TEST(Join, NullRowHasNullInInnerKeys) {
    QuietContext context;
    PlainJoin plain{{table_of({}, {}, 2), table_of({0}, {{9}}, 1), table_of({0}, {{9}}, 1)}, {}};
    plain.edges = {{0, 1, {{1, 2}}, {{1}}}};
    expect_rows(columnar(plain, context), {{0, 0, 0}});
}

// Thousands of rows, so that loops run over several blocks and codes grow past direct addressing.
TEST(Join, LargeCompositeKeys) {
    for (const Key spread : {1U, 65'537U}) {
        QuietContext context;
        const int facts = 200'000, dimensions = 3'000;
        PlainJoin plain{{table_of({0, 1, 2}, {{}, {}, {}}, dimensions), table_of({2, 0, 1}, {{}, {}, {}}, facts)}, {}};
        for (int row = 0; row < dimensions; row++)
            for (size_t i = 0; i < 3; i++)
                plain.tables[0].keys[i].push_back(static_cast<Key>(row + static_cast<int>(i)) * spread);
        uint64_t matching = 0;
        for (int row = 0; row < facts; row++) {
            const int drawn = static_cast<int>(random_bits(1, 2, static_cast<uint64_t>(row)) % 4'000);
            const bool differs = row % 7 == 0;
            matching += drawn < dimensions && !differs;
            plain.tables[1].keys[1].push_back(static_cast<Key>(drawn) * spread);
            plain.tables[1].keys[2].push_back(static_cast<Key>(drawn + 1) * spread);
            plain.tables[1].keys[0].push_back(static_cast<Key>(drawn + 2 + differs) * spread);
        }
        const Join join = columnar(plain, context);
        EXPECT_EQ(join.count(context), matching);
        EXPECT_EQ(join.tables()[1].rows, matching);
    }
}

TEST(Join, FilterGivesMemoryBack) {
    QuietContext context;
    Join join = columnar(PlainJoin{{table_of({0}, {Column(1'000, 1)}, 1'000)}, {}}, context);
    join.filter(
        0, [](RowId row) { return row < 10; }, context);
    EXPECT_EQ(context.memory().used(), 10 * (sizeof(Key) + 2 * sizeof(double) + sizeof(uint32_t)));
}

PlainJoin product_of(const std::vector<int>& rows) {
    PlainJoin plain;
    for (int count : rows) plain.tables.push_back(table_of({}, {}, count));
    return plain;
}

TEST(Join, CountsUpTo2To53) {
    QuietContext context;
    const int k = 1 << 13;
    const Join most = columnar(product_of({k, 2 * k, k, k}), context);
    EXPECT_EQ(most.count(context), uint64_t{1} << 53);
    EXPECT_EQ(counts_by_row(most, 1, context)[0], uint64_t{1} << 39);

    const Join more = columnar(product_of({k, 2 * k, k, k + 1}), context);
    const Caught error = caught([&] { more.count(context); });
    EXPECT_EQ(error.code, ErrorCode::out_of_range);
    EXPECT_EQ(error.message, "the join has more than 9007199254740992 rows, the most that can be counted");
    EXPECT_EQ(counts_by_row(more, 1, context)[0], (uint64_t{1} << 39) + (uint64_t{1} << 26));
}

TEST(Join, CountsOfARowUpTo2To53) {
    QuietContext context;
    const Join join = columnar(product_of({1, 1 << 14, 1 << 14, 1 << 14, 1 << 14, 1 << 14}), context);
    EXPECT_EQ(counts_by_row(join, 0, context)[0], Counting::too_many); // 2^70 rows: also past 64 bits
}

TEST(Join, RefusesColumnsOfTheWrongLength) {
    QuietContext context;
    const Caught error = caught([&] { columnar({{table_of({0}, {{1, 2}}, 3)}, {}}, context); });
    EXPECT_EQ(error.code, ErrorCode::internal);
    EXPECT_EQ(error.message, "a column of table \"t0\" has 2 values, the table has 3 rows");
}

TEST(Join, RefusesTablesWithTooManyRows) {
    QuietContext context;
    std::vector<Table> tables(1);
    tables[0].name = "huge";
    tables[0].rows = max_rows + 1;
    const Caught error = caught([&] { Join(std::move(tables), {}, context); });
    EXPECT_EQ(error.code, ErrorCode::limit_exceeded);
    EXPECT_EQ(error.message, "table \"huge\" has 4294967295 rows, a join reads at most 4294967294 of one table");

    Table full;
    full.name = "full";
    full.rows = max_rows;
    const Caught no_null_row = caught([&] { append_null_row(full); });
    EXPECT_EQ(no_null_row.code, ErrorCode::limit_exceeded);
    EXPECT_EQ(no_null_row.message,
              "table \"full\" has 4294967294 rows, a left join reads at most 4294967293 of its right table");
}

TEST(Join, RefusesImpossibleLeftJoins) {
    QuietContext context;
    const auto message = [&](std::vector<PlainEdge> edges) {
        const Caught error = caught([&] { columnar({product_of({1, 1, 1}).tables, edges}, context); });
        EXPECT_EQ(error.code, ErrorCode::internal);
        return error.message;
    };
    EXPECT_EQ(message({{0, 2, {}, {}}, {1, 2, {}, {}}}), "table \"t2\" is the right side of two left joins");
    EXPECT_EQ(message({{0, 1, {}, {}}, {1, 0, {}, {}}}), "left joins form a circle");
    EXPECT_EQ(message({{1, 1, {}, {}}}), "left joins form a circle");
    EXPECT_EQ(message({{0, 1, {{1, 2}}, {{1}}}}),
              "a key of the left join of \"t0\" and \"t1\" has not one value for each row");
    EXPECT_EQ(message({{0, 3, {}, {}}}), "a left join names no table, or its sides have different numbers of keys");
    EXPECT_EQ(message({{0, 1, {{1}}, {}}}), "a left join names no table, or its sides have different numbers of keys");
}

// Cancelled after n units of work for every n, it leaves nothing counted behind.
TEST(Join, CanBeCancelledAnywhere) {
    const PlainJoin plain = random_join(7, {.max_tables = 6, .left_join = 0.5});
    bool finished = false;
    uint64_t units = 0;
    for (; !finished; units++) {
        ExpiringContext context(units);
        try {
            Join join = columnar(plain, context);
            join.filter(
                0, [](RowId) { return true; }, context);
            join.count(context);
            finished = true;
        } catch (const Cancelled&) {
        }
        EXPECT_EQ(context.memory().used(), 0U);
    }
    EXPECT_GT(units, 100U);
}

TEST(Join, MemoryIsBounded) {
    const PlainJoin plain = random_join(7, {.max_tables = 6, .left_join = 0.5});
    bool finished = false;
    for (uint64_t limit = 0; !finished; limit += 512) {
        QuietContext context(1, limit);
        const Caught error = caught([&] { columnar(plain, context).count(context); });
        finished = !error.thrown;
        if (error.thrown) {
            EXPECT_EQ(error.code, ErrorCode::memory_limit);
        }
        EXPECT_EQ(context.memory().used(), 0U);
    }
}

TEST(Table, TellsEqualRowsApartWhereverTheyLie) {
    for (uint64_t seed = 0; seed < 50; seed++) {
        Random random(seed);
        QuietContext context;
        std::vector<uint64_t> rows(static_cast<size_t>(random.below(3000)));
        for (uint64_t& row : rows) row = mix64(static_cast<uint64_t>(random.below(40) * random.below(40)));
        const auto told_apart = [&] {
            Buffer<uint64_t> content(context.memory(), "a test's contents", rows.size());
            std::copy(rows.begin(), rows.end(), content.begin());
            tell_equal_rows_apart(content, context);
            return std::vector<uint64_t>(content.begin(), content.end());
        };
        std::vector<uint64_t> first = told_apart();
        for (size_t i = rows.size(); i > 1; i--)
            std::swap(rows[i - 1], rows[static_cast<size_t>(random.below(static_cast<int>(i)))]);
        std::vector<uint64_t> second = told_apart();
        std::sort(first.begin(), first.end());
        std::sort(second.begin(), second.end());
        EXPECT_EQ(first, second);
        EXPECT_EQ(std::adjacent_find(first.begin(), first.end()), first.end());
    }
}

} // namespace
} // namespace btml::relational
