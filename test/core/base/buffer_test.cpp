#include "core/base/buffer.hpp"
#include "core/numbers/hashed_rows.hpp"

#include "caught.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace btml {
namespace {

using test::Caught;
using test::caught;

TEST(Buffer, GrowsAndKeepsItsElements) {
    MemoryBudget budget(1 << 30);
    Buffer<uint32_t> buffer(budget, "a test");
    EXPECT_TRUE(buffer.empty());
    for (uint32_t i = 0; i < 100'000; i++) buffer.push_back(i * 3);
    ASSERT_EQ(buffer.size(), 100'000U);
    for (uint32_t i = 0; i < 100'000; i++) ASSERT_EQ(buffer[i], i * 3);
    EXPECT_GE(budget.used(), 400'000U);
    EXPECT_LE(budget.used(), 600'000U); // at most half as much again
    buffer.shrink_to_fit();
    EXPECT_EQ(budget.used(), 400'000U);
    EXPECT_EQ(buffer[99'999], 299'997U);
    buffer.resize(10);
    EXPECT_EQ(buffer.span().size(), 10U);
    EXPECT_EQ(budget.used(), 400'000U);
    buffer.shrink_to_fit();
    EXPECT_EQ(budget.used(), 40U);
    buffer.resize(0);
    buffer.shrink_to_fit();
    EXPECT_EQ(budget.used(), 0U);
    buffer.push_back(7);
    EXPECT_EQ(buffer[0], 7U);
    buffer.clear();
    EXPECT_EQ(budget.used(), 0U);
    EXPECT_TRUE(buffer.empty());
}

TEST(Buffer, FillsAndIterates) {
    MemoryBudget budget(1 << 20);
    Buffer<double> buffer(budget, "a test", 5, 2.5);
    EXPECT_EQ(std::accumulate(buffer.begin(), buffer.end(), 0.0), 12.5);
    const Buffer<double>& view = buffer;
    EXPECT_EQ(std::accumulate(view.begin(), view.end(), 0.0), 12.5);
    EXPECT_EQ(view.span().data(), view.data());
}

struct Link {
    uint32_t to = 7;
    bool operator==(const Link&) const = default;
};

TEST(Buffer, FillsWithWhatLooksLikeZero) {
    MemoryBudget budget(1 << 20);
    Buffer<double> zeros(budget, "a test", 1000, 0.0), negative_zeros(budget, "a test", 3, -0.0);
    EXPECT_EQ(budget.used(), 8024U);
    EXPECT_EQ(std::count(zeros.begin(), zeros.end(), 0.0), 1000);
    EXPECT_FALSE(std::signbit(zeros[999]));
    EXPECT_TRUE(std::signbit(negative_zeros[2]));
    zeros.resize(2000);
    std::fill(zeros.begin() + 1000, zeros.end(), 1.0);
    EXPECT_EQ(std::accumulate(zeros.begin(), zeros.end(), 0.0), 1000.0);
    Buffer<Link> links(budget, "a test", 4, Link());
    EXPECT_EQ(std::count(links.begin(), links.end(), Link()), 4);
    EXPECT_EQ((Buffer<int>(budget, "a test", 0, 0).size()), 0U);
}

TEST(Buffer, CountsAgainstItsBudgetOnceHoweverItMoves) {
    MemoryBudget first(1 << 20), second(1 << 20);
    {
        Buffer<int> a(first, "a test", 100, 1);
        Buffer<int> b(std::move(a));
        EXPECT_EQ(first.used(), 400U);
        EXPECT_EQ(b[99], 1);
        Buffer<int> c(second, "a test", 50, 2);
        c = std::move(b);
        EXPECT_EQ(first.used(), 400U);
        EXPECT_EQ(second.used(), 0U);
        EXPECT_EQ(c.size(), 100U);
        Buffer<int>& same = c;
        c = std::move(same);
        EXPECT_EQ(c.size(), 100U);
        a.push_back(3); // a moved-from buffer is an empty one
        EXPECT_EQ(a.size(), 1U);
    }
    EXPECT_EQ(first.used(), 0U);
}

TEST(Buffer, RefusesToPassTheLimit) {
    MemoryBudget budget(4096);
    Buffer<uint64_t> held(budget, "held rows", 128, uint64_t{9}); // 1 kB
    const Caught error = caught([&] { Buffer<uint64_t>(budget, "the rows of a test", 400); });
    EXPECT_EQ(error.code, ErrorCode::memory_limit);
    EXPECT_EQ(error.message, "memory required is 5 kB, btml.memory_limit is 4 kB");
    EXPECT_EQ(error.detail, "The memory was to hold the rows of a test.");
    EXPECT_EQ(error.hint, "Raise btml.memory_limit, or read fewer rows or columns.");
    EXPECT_EQ(budget.used(), 1024U);
    EXPECT_EQ(budget.left(), 3072U);
    EXPECT_TRUE(caught([&] { held.resize(513); }).thrown);
    EXPECT_EQ(held.size(), 128U); // as it was
    EXPECT_EQ(held[127], 9U);
    held.resize(512);
    EXPECT_EQ(budget.used(), 4096U);
}

TEST(Buffer, CopiesAreCountedAndApart) {
    QuietContext context;
    Buffer<int> buffer(context.memory(), "a test", 300'000, 7);
    buffer[299'999] = 8;
    {
        Buffer<int> copy = buffer.copy(context);
        EXPECT_TRUE(std::equal(buffer.begin(), buffer.end(), copy.begin(), copy.end()));
        EXPECT_EQ(context.memory().used(), 2 * 300'000 * sizeof(int));
        copy[0] = 1;
        EXPECT_EQ(buffer[0], 7);
    }
    EXPECT_EQ(context.memory().used(), 300'000 * sizeof(int));
    EXPECT_TRUE(Buffer<int>(context.memory(), "a test").copy(context).empty());
}

TEST(HashedRows, ComeInTheOrderOfHashesThenOfTheirNumbers) {
    QuietContext context;
    const uint64_t hashes[] = {5, 3, 5, 1, 3};
    const Buffer<HashedRow> rows = rows_by_hash(5, "a test", 1, context, [&](size_t row) { return hashes[row]; });
    std::vector<uint32_t> order;
    for (const HashedRow& row : rows) order.push_back(row.row);
    EXPECT_EQ(order, (std::vector<uint32_t>{3, 1, 4, 0, 2}));
    const double zeros[] = {0.0, 1}, negative_zeros[] = {-0.0, 1}, others[] = {1, 0};
    EXPECT_EQ(hash_of_numbers(zeros), hash_of_numbers(negative_zeros));
    EXPECT_NE(hash_of_numbers(zeros), hash_of_numbers(others));
}

TEST(Buffer, SizesThatOverflowAreBadAlloc) {
    MemoryBudget budget(UINT64_MAX);
    EXPECT_THROW(Buffer<uint64_t>(budget, "a test", SIZE_MAX / 4), std::bad_alloc);
#ifndef __SANITIZE_ADDRESS__ // it ends the program where malloc says no
    EXPECT_THROW(Buffer<char>(budget, "a test", SIZE_MAX / 2), std::bad_alloc);
#endif
    EXPECT_EQ(budget.used(), 0U);
}

TEST(MemoryBudget, RequireCountsNothing) {
    MemoryBudget budget(2048);
    budget.acquire(1024, "a test");
    budget.require(1024, "a test");
    EXPECT_EQ(budget.used(), 1024U);
    EXPECT_EQ(caught([&] { budget.require(1025, "a test"); }).message,
              "memory required is 3 kB, btml.memory_limit is 2 kB");
    const Caught error = caught([&] { budget.require(UINT64_MAX, "a test"); });
    EXPECT_EQ(error.message, "memory required is 18014398509481984 kB, btml.memory_limit is 2 kB");
    budget.release(1024);
    EXPECT_EQ(budget.used(), 0U);
}

} // namespace
} // namespace btml
