// Keys in their frame, equal ones merged: how soon a cancelled call stops.
#include "core/kernel/key_set.hpp"

#include "caught.hpp"
#include "kernel_data.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace btml::kernel {
namespace {

using namespace btml::test;

constexpr size_t rows = size_t{1} << 18, dimensions = 4;
constexpr uint64_t work_per_poll = uint64_t{1} << 18; // units of RunContext::worked

// So many keys, `distinct` of them different.
Keys some_keys(size_t distinct, RunContext& context) {
    Keys keys(dimensions, 1, context.memory());
    for (size_t i = 0; i < rows; i++) {
        const std::vector<double> x(dimensions, static_cast<double>(i % distinct));
        keys.append(x, std::vector<double>{1});
    }
    return keys;
}

uint64_t polls_of(const std::function<void(RunContext&)>& call) {
    ImpatientContext context;
    call(context);
    return context.polls;
}

// A cancel at any poll ends the call there. polls: as many as it makes when nobody cancels it.
void expect_cancels(const std::function<void(RunContext&)>& call, uint64_t polls) {
    for (uint64_t n = 0; n < polls; n += 1 + polls / 8) {
        ImpatientContext context(n);
        EXPECT_THROW(call(context), Cancelled) << n << " of " << polls << " polls";
    }
    ImpatientContext patient(polls);
    EXPECT_NO_THROW(call(patient));
}

void merge(RunContext& context) {
    merge_equal_keys(some_keys(1, context), exact_options(1), context);
}

TEST(DistinctKeys, OrderStopsWithinAPollsWork) {
    QuietContext quiet;
    const Keys keys = some_keys(rows, quiet);
    const auto call = [&](RunContext& context) { canonical_order(keys, context); };
    const uint64_t polls = polls_of(call);
    constexpr uint64_t comparisons = 10; // of each row, at least, to sort them
    EXPECT_GE(polls, (dimensions + comparisons + 1) * rows / work_per_poll);
    expect_cancels(call, polls);
}

TEST(DistinctKeys, FrameStopsWithinAPollsWork) {
    QuietContext quiet;
    const Keys keys = some_keys(rows, quiet);
    const Buffer<uint32_t> order = canonical_order(keys, quiet);
    const auto call = [&](RunContext& context) { Frame(keys.points, order, exact_options(1), context); };
    const uint64_t polls = polls_of(call);
    EXPECT_GE(polls, 4 * dimensions * rows / work_per_poll);
    expect_cancels(call, polls);
}

// All keys are equal: one run of the merging loop goes over all of them.
TEST(DistinctKeys, MergingStopsWithinAPollsWork) {
    QuietContext quiet;
    const Keys keys = some_keys(1, quiet);
    const uint64_t ordering = polls_of([&](RunContext& context) { canonical_order(keys, context); });
    const uint64_t polls = polls_of(merge);
    const uint64_t frame = 4 * dimensions, norm = 4 + 4, sums = dimensions + 1;
    EXPECT_GE(polls, ordering + (frame + norm + sums) * rows / work_per_poll - 1);
    expect_cancels(merge, polls);
}

} // namespace
} // namespace btml::kernel
