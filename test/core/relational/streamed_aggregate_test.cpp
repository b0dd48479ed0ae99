#include "streamed_run.hpp"

#include <gtest/gtest.h>

namespace btml::relational {
namespace {

using namespace test;

// The largest absolute value of a column in some rows, and the least that is not 0.
std::pair<double, double> extrema(const StreamedJoinTest& test, const std::set<int>& rows, int t, int column) {
    double max_abs = 0, min_abs = std::numeric_limits<double>::infinity();
    for (int row : rows) {
        const Value& value = test.rows[t][row][column];
        const double x = std::abs(double_of(value, test.plan.tables[t].columns[column]));
        max_abs = value.null ? max_abs : std::max(max_abs, x);
        min_abs = value.null || x == 0 ? min_abs : std::min(min_abs, x);
    }
    return {max_abs, std::isinf(min_abs) ? 0 : min_abs};
}

// Of the rows with partners below, those are kept that are in the join, and what no table read before could tell of.
void expect_counts(const StreamedJoinTest& test, const BruteForce& brute, const StreamedAggregate& result) {
    for (int t = 0; t <= test.plan.root(); t++) {
        const StreamedReport counts = result.report(t);
        if (counts.rows_read == 0) continue; // it was not needed
        EXPECT_EQ(counts.rows_read, test.rows[t].size());
        EXPECT_LE(counts.rows_kept, brute.kept[t].size());
        EXPECT_GE(counts.rows_kept, t == test.plan.root() ? brute.kept[t].size() : brute.joined[t].size());
        EXPECT_GE(counts.bytes, counts.keys * sizeof(WideInteger));
        const StreamedTable& table = test.plan.tables[t];
        for (size_t m = 0; m < table.measured.size(); m++) {
            const auto [max_joined, min_joined] = extrema(test, brute.joined[t], t, table.measured[m]);
            const auto [max_kept, min_kept] = extrema(test, brute.kept[t], t, table.measured[m]);
            const StreamedRange range = result.report(t).ranges[m];
            EXPECT_TRUE(range.finite);
            EXPECT_GE(range.max_abs, max_joined);
            EXPECT_LE(range.max_abs, max_kept * (1 + 1e-14));
            if (min_joined > 0) {
                EXPECT_GT(range.min_abs, 0);
                EXPECT_LE(range.min_abs, min_joined);
            }
            if (range.min_abs > 0) {
                EXPECT_GE(range.min_abs, min_kept * (1 - 1e-14));
            }
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
        QuietContext context(1 + static_cast<int>(seed % 2));
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
    expect_agreement({.max_tables = 4, .orders = 0, .max_integer = 300'000'000}, 1'000, 0.8);
}

// Rows meet so many entries that a batch has more matches than fit at once.
TEST(StreamedAggregate, AgreesWhereRowsMeetManyEntries) {
    expect_agreement({.max_tables = 2, .max_rows = 150, .domain = 2, .groups = 2, .max_integer = 9}, 200, 0.5);
}

} // namespace
} // namespace btml::relational
