// Shares of a call: what is measured is monotone, in [0, 1], and the part of the leaves of a tree of shares that is
// done.
#include "core/base/run_context.hpp"

#include "core/numbers/rng.hpp"

#include <gtest/gtest.h>

namespace btml {
namespace {

TEST(RunContext, NothingIsMeasuredBeforeAShare) {
    QuietContext context;
    context.progress("reading", 5, 10);
    EXPECT_LT(context.fraction(), 0);
    context.share_progress("growing", 1, 4);
    EXPECT_DOUBLE_EQ(context.fraction(), 0.25);
    context.progress("sorting", 9, 10);
    EXPECT_DOUBLE_EQ(context.fraction(), 0.25);
    context.share_progress("growing", 0, 0);
    EXPECT_DOUBLE_EQ(context.fraction(), 0.25);
    context.share_progress("growing", 9, 4);
    EXPECT_DOUBLE_EQ(context.fraction(), 1);
}

TEST(RunContext, AShareOfUnknownLengthMovesNothing) {
    QuietContext context;
    {
        const Share unknown(context, 0, 0);
        context.share_progress("a pilot", 3, 4);
        const Share part(context, 0.5, 1);
        context.share_progress("a pilot", 4, 4);
        EXPECT_LT(context.fraction(), 0);
    }
    const Share all(context, 0, 1);
    context.progress("a pilot", 1, 2);
    EXPECT_LT(context.fraction(), 0);
    context.share_progress("sums", 0, 2);
    EXPECT_EQ(context.fraction(), 0);
    context.share_progress("sums", 1, 2);
    EXPECT_DOUBLE_EQ(context.fraction(), 0.5);
}

TEST(RunContext, SharesEndWithAnException) {
    QuietContext context;
    context.reached(0);
    try {
        const Share first(context, 0.25, 0.5);
        const Share inner(context, 0.5, 1);
        EXPECT_DOUBLE_EQ(context.fraction(), 0.375);
        throw Cancelled{};
    } catch (const Cancelled&) {
    }
    context.reached(0.75);
    EXPECT_DOUBLE_EQ(context.fraction(), 0.75);
}

TEST(RunContext, WorkThatBeginsAgainIsMeasuredAnew) {
    QuietContext context;
    context.share_progress("growing", 3, 4);
    context.begin_again();
    EXPECT_LT(context.fraction(), 0);
    context.share_progress("growing", 1, 4);
    EXPECT_DOUBLE_EQ(context.fraction(), 0.25);
}

// Splits the part from begin to end at random and works it off, some of it never reported.
void work(RunContext& context, RandomStream& random, int depth, double begin, double end, double& last) {
    const double start = context.fraction();
    EXPECT_GE(start, last);
    EXPECT_NEAR(start, begin, 1e-12);
    last = start;
    if (depth == 0 || random.unit() < 0.3) {
        const auto total = 1 + static_cast<uint64_t>(random.unit() * 5);
        for (uint64_t done = 0; done <= total; done++) {
            context.share_progress("a part", done, total);
            EXPECT_GE(context.fraction(), last);
            EXPECT_NEAR(context.fraction(), begin + (end - begin) * static_cast<double>(done) / total, 1e-12);
            last = context.fraction();
            context.share_progress("a part", done / 2, total); // what falls back is not shown
            EXPECT_EQ(context.fraction(), last);
        }
        return;
    }
    double from = 0;
    while (from < 1) {
        const double to = random.unit() < 0.3 ? 1 : from + (1 - from) * random.unit();
        {
            const Share share(context, from, to);
            work(context, random, depth - 1, begin + (end - begin) * from, begin + (end - begin) * to, last);
        }
        if (random.unit() < 0.2) {
            const Share unknown(context, 0, 0);
            context.share_progress("unknown", 1, 1);
            EXPECT_LE(context.fraction(), begin + (end - begin) * to + 1e-12);
        }
        from = to;
    }
}

TEST(RunContext, NestedSharesAddUp) {
    for (uint64_t seed = 0; seed < 300; seed++) {
        QuietContext context;
        RandomStream random(seed, 1);
        double last = 0;
        const Share all(context, 0, 1);
        context.reached(0);
        work(context, random, 4, 0, 1, last);
        EXPECT_NEAR(context.fraction(), 1, 1e-12) << seed;
    }
}

TEST(RunContext, EqualSharesFollowEachOther) {
    QuietContext context;
    context.reached(0);
    for (size_t i = 0; i < 7; i++) {
        const auto share = Share::of(context, i, 7);
        EXPECT_DOUBLE_EQ(context.fraction(), static_cast<double>(i) / 7);
    }
}

} // namespace
} // namespace btml
