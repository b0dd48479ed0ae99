#include "streamed_run.hpp"

#include <gtest/gtest.h>

namespace btml::relational {
namespace {

using namespace test;

GroupKey group_key(const StreamedAggregate& result, uint64_t group, size_t columns) {
    GroupKey key;
    for (size_t c = 0; c < columns; c++)
        key.push_back(result.group_is_null(group, c) ? std::nullopt : std::optional(result.group_value(group, c)));
    return key;
}

void expect_cell(CellKind kind, const Expected& expected, const StreamedCell& cell) {
    EXPECT_EQ(cell.absent, expected.absent);
    if (cell.absent || expected.absent) {
        EXPECT_TRUE(cell.integer == 0);
        return;
    }
    if (is_number(kind)) {
        EXPECT_EQ(std::bit_cast<uint64_t>(cell.number), std::bit_cast<uint64_t>(expected.number))
            << cell.number << " " << expected.number;
        return;
    }
    EXPECT_TRUE(cell.integer == expected.integer)
        << static_cast<double>(cell.integer) << " " << static_cast<double>(expected.integer);
    if (!is_integer(kind)) {
        EXPECT_EQ(cell.scale, expected.scale);
    }
}

// Can the result depend on the order of rows? A zero of products over several tables may be taken for that.
bool is_ambiguous(const StreamedJoinTest& test, const BruteForce& brute, bool perhaps) {
    for (const auto& [key, cells] : brute.groups)
        for (size_t a = 0; a < cells.size(); a++) {
            if (cells[a].ambiguous) return true;
            const bool zero =
                test.aggregates[a].kind == CellKind::number_sum && !cells[a].absent && cells[a].number == 0;
            if (perhaps && zero && test.aggregates[a].factors.size() > 1) return true;
        }
    return false;
}

void expect_result(const StreamedJoinTest& test, const BruteForce& brute, const StreamedAggregate& result) {
    ASSERT_EQ(result.groups(), brute.groups.size());
    const size_t columns = test.plan.message_groups(test.plan.root());
    for (uint64_t g = 0; g < result.groups(); g++) {
        const auto of = brute.groups.find(group_key(result, g, columns));
        ASSERT_NE(of, brute.groups.end());
        for (size_t a = 0; a < test.aggregates.size(); a++)
            expect_cell(test.aggregates[a].kind, of->second[a], result.cell(g, a + 1));
    }
}

void expect_counts(const StreamedJoinTest& test, const BruteForce& brute, const StreamedAggregate& result) {
    for (int t = 0; t <= test.plan.root(); t++) {
        const StreamedCounts counts = result.counts(t);
        if (counts.rows_read == 0) continue; // it was not needed
        EXPECT_EQ(counts.rows_read, test.rows[t].size());
        EXPECT_EQ(counts.rows_kept, brute.kept[t].size());
        EXPECT_GE(counts.bytes, counts.keys * sizeof(WideInteger));
        const StreamedTable& table = test.plan.tables[t];
        for (size_t m = 0; m < table.measured.size(); m++) {
            double max_abs = 0, min_abs = std::numeric_limits<double>::infinity();
            for (int row : brute.kept[t]) {
                const Value& value = test.rows[t][row][table.measured[m]];
                const double x = std::abs(double_of(value, table.columns[table.measured[m]]));
                max_abs = value.null ? max_abs : std::max(max_abs, x);
                min_abs = value.null || x == 0 ? min_abs : std::min(min_abs, x);
            }
            const StreamedRange range = result.range(t, m);
            EXPECT_TRUE(range.finite);
            EXPECT_GE(range.max_abs, max_abs);
            EXPECT_LE(range.max_abs, max_abs * (1 + 1e-14));
            EXPECT_LE(range.min_abs, std::isinf(min_abs) ? 0 : min_abs);
            EXPECT_GE(range.min_abs, std::isinf(min_abs) ? 0 : min_abs * (1 - 1e-14));
        }
    }
}

// The share of seeds whose results can be decided must be min_decided at least.
void expect_agreement(const StreamedShape& shape, uint64_t seeds, double min_decided) {
    uint64_t decided = 0;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        SCOPED_TRACE(seed);
        const StreamedJoinTest test = random_streamed_join(seed, shape);
        const BruteForce brute(test);
        QuietContext context;
        Streamed run(test, context, seed % 4 == 0 ? RowBatch::max_rows : 1 + static_cast<uint32_t>(seed % 5));
        if (const char* reason = run.run()) {
            EXPECT_TRUE(is_ambiguous(test, brute, true)) << reason;
            continue;
        }
        EXPECT_FALSE(is_ambiguous(test, brute, false));
        decided++;
        expect_result(test, brute, *run.aggregate);
        expect_counts(test, brute, *run.aggregate);
        if (testing::Test::HasFailure()) break;
    }
    EXPECT_GE(static_cast<double>(decided), min_decided * static_cast<double>(seeds));
}

TEST(StreamedAggregate, AgreesWithBruteForce) {
    expect_agreement({}, 3'000, 0.8);
}

TEST(StreamedAggregate, AgreesWhereManyValuesAreEqual) {
    expect_agreement({.max_tables = 3, .max_rows = 12, .domain = 3, .max_integer = 1}, 3'000, 0.4);
}

TEST(StreamedAggregate, AgreesWithoutGroups) {
    expect_agreement({.groups = 0}, 1'000, 0.8);
}

// Sums that no double holds.
TEST(StreamedAggregate, AgreesWhereIntegersAreLarge) {
    expect_agreement({.max_tables = 4, .max_integer = 300'000'000}, 1'000, 0.8);
}

// Rows meet so many entries that a batch has more matches than fit at once.
TEST(StreamedAggregate, AgreesWhereRowsMeetManyEntries) {
    expect_agreement({.max_tables = 2, .max_rows = 150, .domain = 2, .groups = 2, .max_integer = 9}, 200, 0.5);
}

} // namespace
} // namespace btml::relational
