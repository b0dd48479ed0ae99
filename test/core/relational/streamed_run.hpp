// Runs of random streamed joins.
#pragma once

#include "streamed_join.hpp"

#include <gtest/gtest.h>

namespace btml::relational::test {

// A run over the rows of a test; sources outlive it. Bags have no source.
struct Streamed {
    Streamed(const StreamedJoinTest& test, RunContext& context, uint32_t batch_rows = RowBatch::max_rows) {
        std::vector<RowSource*> pointers;
        for (const Rows& rows : test.rows) {
            sources.push_back(std::make_unique<VectorSource>(rows, batch_rows));
            pointers.push_back(sources.back().get());
        }
        for (const StreamedBag& bag : test.plan.bags) pointers[bag.table] = nullptr;
        aggregate = std::make_unique<StreamedAggregate>(test.plan, pointers, context);
    }

    // The reason for which there is no result, or null.
    const char* run() {
        try {
            aggregate->run();
        } catch (const CannotDecide& why) {
            return why.reason;
        }
        return nullptr;
    }

    std::vector<std::unique_ptr<VectorSource>> sources;
    std::unique_ptr<StreamedAggregate> aggregate;
};

inline GroupKey group_key(const StreamedAggregate& result, uint64_t group, size_t columns) {
    GroupKey key;
    for (size_t c = 0; c < columns; c++)
        key.push_back(result.group_is_null(group, c) ? std::nullopt : std::optional(result.group_value(group, c)));
    return key;
}

inline void expect_cell(CellKind kind, const Expected& expected, const StreamedCell& cell) {
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
inline bool is_ambiguous(const StreamedJoinTest& test, const BruteForce& brute, bool perhaps) {
    for (const auto& [key, cells] : brute.groups)
        for (size_t a = 0; a < cells.size(); a++) {
            if (cells[a].ambiguous) return true;
            const bool zero =
                test.aggregates[a].kind == CellKind::number_sum && !cells[a].absent && cells[a].number == 0;
            // What is added to an extremum may have more digits than the equal ones differ in.
            const CellKind kind = test.aggregates[a].kind;
            const bool sum = is_extremum(kind) && !is_integer(kind) && kind != CellKind::decimal_max_product;
            // The scale of 0 depends on factors that are beaten.
            const bool no_scale = kind == CellKind::decimal_max_product && !cells[a].absent && cells[a].integer == 0;
            if (perhaps && (zero || sum || no_scale) && test.aggregates[a].factors.size() > 1) return true;
        }
    return false;
}

inline void expect_result(const StreamedJoinTest& test, const BruteForce& brute, const StreamedAggregate& result) {
    ASSERT_EQ(result.groups(), brute.groups.size());
    const size_t columns = test.plan.message_groups(test.plan.root());
    for (uint64_t g = 0; g < result.groups(); g++) {
        const auto of = brute.groups.find(group_key(result, g, columns));
        ASSERT_NE(of, brute.groups.end());
        for (size_t a = 0; a < test.aggregates.size(); a++)
            expect_cell(test.aggregates[a].kind, of->second[a], result.cell(g, a + 1));
    }
}

} // namespace btml::relational::test
