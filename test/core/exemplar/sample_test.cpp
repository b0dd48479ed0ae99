// The sample of rows of an aggregate.
#include "caught.hpp"

#include "core/exemplar/row_sample.hpp"
#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace btml;
using namespace btml::exemplar;
using btml::test::caught;
using btml::test::ImpatientContext;

namespace {

struct Row {
    std::string id;
    std::vector<double> x;
};

std::vector<Row> rows_of(size_t count, size_t distinct) {
    std::vector<Row> rows;
    for (size_t i = 0; i < count; i++) {
        const uint64_t n = i % distinct;
        rows.push_back({"row " + std::to_string(n), {10 * random_unit(1, 1, n), 10 * random_unit(1, 2, n)}});
    }
    return rows;
}

void add(RowSample& sample, const Row& row, int k = 4) {
    QuietContext context;
    sample.add({.x = row.x, .id = row.id, .has_id = true}, k, false, context);
}

std::vector<std::byte> flat(const RowSample& sample) {
    std::vector<std::byte> bytes(sample.flat_size());
    sample.flatten(bytes.data());
    return bytes;
}

std::vector<std::string> ids(const RowSample& sample) {
    QuietContext context;
    std::vector<std::string> result;
    for (const Exemplar& exemplar : sample.select(context).exemplars)
        result.push_back(exemplar.id + ": " + shortest(exemplar.members));
    return result;
}

} // namespace

TEST(ExemplarSample, NeitherOrderNorPartsMatter) {
    MemoryBudget budget(uint64_t{1} << 30);
    std::vector<Row> rows = rows_of(20000, 9000);
    RowSample whole(budget);
    for (const Row& row : rows) add(whole, row);
    std::reverse(rows.begin(), rows.end());
    RowSample parts(budget);
    QuietContext context;
    for (size_t part = 0; part < 7; part++) {
        RowSample sample(budget);
        for (size_t i = part; i < rows.size(); i += 7) add(sample, rows[i]);
        if (part % 2)
            parts.append(RowSample::parse(flat(sample), budget, context), context);
        else
            parts.append(sample, context);
    }
    EXPECT_EQ(parts.rows(), 20000U);
    EXPECT_EQ(ids(parts), ids(whole));
}

// A zero is a zero, whichever sign the first of the equal rows gave it.
TEST(ExemplarSample, SignsOfZerosDoNotMatter) {
    MemoryBudget budget(uint64_t{1} << 30);
    RowSample first(budget), second(budget);
    for (const double zero : {-0.0, 0.0}) {
        add(first, {"a", {zero, 1.0}});
        add(second, {"a", {-zero, 1.0}});
    }
    EXPECT_EQ(flat(first), flat(second));
    QuietContext context;
    for (const RowSample* sample : {&first, &second}) {
        const Selection selection = sample->select(context);
        ASSERT_EQ(selection.exemplars.size(), 1U);
        EXPECT_FALSE(std::signbit(selection.exemplars[0].x[0]));
    }
}

// Remembers the most bytes that it has counted.
class PeakBudget : public MemoryBudget {
  public:
    PeakBudget() : MemoryBudget(uint64_t{1} << 30) {}
    void* resize_block(void* block, size_t bytes) override {
        peak = std::max(peak, used());
        return MemoryBudget::resize_block(block, bytes);
    }
    uint64_t peak = 0;
};

// What sorts the rows counts, too, and it can be cancelled.
TEST(ExemplarSample, PruningIsCountedAndPolls) {
    constexpr int k = 1000, capacity = 100 * k;
    for (const uint64_t patience : {UINT64_MAX, uint64_t{3}}) {
        PeakBudget budget;
        RowSample sample(budget);
        const std::vector<double> x{1.5};
        const auto add_row = [&](int i, RunContext& context) {
            const std::string id = std::to_string(i);
            sample.add({.x = x, .id = id, .has_id = true}, k, false, context);
        };
        QuietContext quiet;
        for (int i = 0; i < 2 * capacity; i++) add_row(i, quiet);
        const uint64_t full = budget.used();
        ImpatientContext context(patience);
        if (patience < UINT64_MAX) {
            EXPECT_THROW(add_row(2 * capacity, context), Cancelled);
            continue;
        }
        add_row(2 * capacity, context);
        EXPECT_GT(context.polls, 10U);
        EXPECT_GT(budget.peak, full + 2 * capacity * 2 * sizeof(uint64_t) + full / 3);
        EXPECT_LT(budget.used(), full);
    }
}

// A large state is read, and merged into another, in reach of a cancel.
TEST(ExemplarSample, LargeStatesPoll) {
    MemoryBudget budget(uint64_t{1} << 30);
    RowSample sample(budget), other(budget);
    std::vector<double> x(100);
    QuietContext quiet;
    for (int i = 0; i < 9'000; i++) x[0] = i, sample.add({.x = x}, 4, true, quiet);
    const std::vector<std::byte> bytes = flat(sample);
    ImpatientContext reading(3), merging(3);
    EXPECT_THROW(RowSample::parse(bytes, budget, reading), Cancelled);
    EXPECT_THROW(other.append(sample, merging), Cancelled);
}

TEST(ExemplarSample, CopiesCount) {
    MemoryBudget budget(uint64_t{1} << 30);
    RowSample sample(budget);
    for (int i = 0; i < 90; i++) add(sample, {"a", {0.0}}, 2);
    for (int i = 0; i < 10; i++) add(sample, {"b", {1.0}}, 2);
    const std::vector<std::string> chosen = ids(sample);
    EXPECT_EQ(chosen.size(), 2U);
    EXPECT_NE(std::find(chosen.begin(), chosen.end(), "a: 90"), chosen.end());
    EXPECT_NE(std::find(chosen.begin(), chosen.end(), "b: 10"), chosen.end());
}

// Members of a sample stand for all rows.
TEST(ExemplarSample, MembersAddUpToAllRows) {
    MemoryBudget budget(uint64_t{1} << 30);
    RowSample sample(budget);
    for (const Row& row : rows_of(30000, 30000)) add(sample, row);
    QuietContext context;
    const Selection selection = sample.select(context);
    double members = 0;
    for (const Exemplar& exemplar : selection.exemplars) members += exemplar.members;
    EXPECT_NEAR(members, 30000, 1e-6);
}

TEST(ExemplarSample, Errors) {
    MemoryBudget budget(uint64_t{1} << 30);
    RowSample sample(budget);
    EXPECT_EQ(caught([&] { add(sample, {"a", {}}); }).message, "x must have at least one element");
    EXPECT_EQ(caught([&] { add(sample, {"a", {1.0}}, 0); }).message, "invalid value for option \"k\": 0");
    EXPECT_EQ(caught([&] { add(sample, {"a", {1.0}}, 10001); }).hint, "Valid values are 1 to 10000.");
    EXPECT_EQ(caught([&] { add(sample, {"a", {NAN}}); }).message, "x has an element that is NULL or NaN");
    EXPECT_EQ(caught([&] { add(sample, {"a", {INFINITY}}); }).message, "x has an element that is infinite");
    add(sample, {"a", {1.0, 2.0}});
    EXPECT_EQ(caught([&] { add(sample, {"a", {1.0}}); }).message, "x has 1 elements, an earlier row has 2");
    EXPECT_EQ(caught([&] {
                  add(sample, {"a", {1.0, 2.0}}, 5);
              }).message,
              "k must be the same in every row of an aggregate");
    MemoryBudget small(1000);
    RowSample refused(small);
    EXPECT_EQ(caught([&] {
                  for (const Row& row : rows_of(1000, 1000)) add(refused, row);
              }).code,
              ErrorCode::memory_limit);
}

TEST(ExemplarSample, BytesThatAreNone) {
    MemoryBudget budget(uint64_t{1} << 30);
    RowSample sample(budget);
    QuietContext context;
    for (const Row& row : rows_of(20, 15)) add(sample, row);
    const std::vector<std::byte> bytes = flat(sample);
    EXPECT_EQ(flat(RowSample::parse(bytes, budget, context)), bytes);
    EXPECT_EQ(flat(RowSample::parse(flat(RowSample(budget)), budget, context)).size(), flat(RowSample(budget)).size());
    for (size_t length = 0; length < bytes.size(); length++)
        EXPECT_EQ(caught([&] { RowSample::parse(std::span(bytes).first(length), budget, context); }).code,
                  ErrorCode::corrupt_model);
    for (size_t i = 0; i < bytes.size(); i++) {
        std::vector<std::byte> changed = bytes;
        changed[i] ^= std::byte{0x81};
        const auto error = caught([&] { ids(RowSample::parse(changed, budget, context)); });
        EXPECT_TRUE(!error.thrown || error.code == ErrorCode::corrupt_model) << "byte " << i << ": " << error.message;
    }
}
