#include "core/relational/streamed/read_ahead.hpp"

#include "caught.hpp"
#include "core/relational/streamed/aggregate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace btml::relational {
namespace {

using btml::test::caught;
using btml::test::ImpatientContext;

// Gives so many batches of one row, whose value is the batch's number.
class NumberSource : public RowSource {
  public:
    explicit NumberSource(int64_t batches, bool in_memory = false) : batches_(batches), in_memory_(in_memory) {}
    void next(RowBatch& batch) override {
        EXPECT_EQ(std::this_thread::get_id(), thread_);
        if (given == fails_at) throw Error(ErrorCode::null_value, "the table is gone");
        std::this_thread::sleep_for(pause);
        batch.rows = given < batches_ ? 1 : 0;
        batch.columns()[0].words[0] = given++;
    }
    bool is_in_memory() const override { return in_memory_; }

    int64_t given = 0, fails_at = -1;
    std::chrono::microseconds pause{0};

  private:
    const std::thread::id thread_ = std::this_thread::get_id();
    const int64_t batches_;
    const bool in_memory_;
};

using Add = std::function<void(int64_t number, RunContext& context)>;

void add_all(RowSource& source, RunContext& context, const Add& add) {
    const auto add_batch = [&](RowBatch& batch, RunContext& of_thread) {
        EXPECT_EQ(batch.rows, 1U);
        add(batch.column(0).words[0], of_thread);
    };
    for_each_batch(source, {StreamedType::integer}, context, add_batch, [](uint32_t rows) { EXPECT_EQ(rows, 1U); });
}

// Adds all and returns how many were not added on this thread.
int64_t add_in_order(RowSource& source, RunContext& context, int64_t batches, std::chrono::microseconds pause = {}) {
    int64_t added = 0, elsewhere = 0;
    const std::thread::id here = std::this_thread::get_id();
    add_all(source, context, [&](int64_t number, RunContext&) {
        EXPECT_EQ(number, added++);
        elsewhere += std::this_thread::get_id() != here;
        std::this_thread::sleep_for(pause);
    });
    EXPECT_EQ(added, batches);
    return elsewhere;
}

TEST(ReadAhead, AddsEveryBatchInOrder) {
    for (int threads : {1, 2, 4})
        for (int64_t batches : {0, 1, 7, 8, 9, 15, 16, 17, 23, 24, 25, 32, 33, 100, 5'000}) {
            QuietContext context(threads);
            NumberSource source(batches);
            const int64_t elsewhere = add_in_order(source, context, batches);
            EXPECT_LE(elsewhere, threads == 1 ? 0 : std::max<int64_t>(0, batches - 8));
            EXPECT_EQ(context.memory().used(), 0U);
        }
}

TEST(ReadAhead, EitherThreadMayBeSlow) {
    using std::chrono::microseconds;
    for (const auto& [read, add] :
         {std::pair(microseconds(300), microseconds(0)), {microseconds(0), microseconds(300)}}) {
        QuietContext context(2);
        NumberSource source(200);
        source.pause = read;
        EXPECT_GT(add_in_order(source, context, 200, add), 0);
    }
}

// Where no time is to be gained, or memory is scarce, there is no other thread.
TEST(ReadAhead, OneThreadWhereASecondIsInVain) {
    QuietContext context(2);
    NumberSource in_memory(1'000, true);
    EXPECT_EQ(add_in_order(in_memory, context, 1'000), 0);
    QuietContext small(2, 100'000);
    NumberSource source(1'000);
    EXPECT_EQ(add_in_order(source, small, 1'000), 0);
}

TEST(ReadAhead, WhatIsThrownEndsBoth) {
    for (int64_t at : {0, 5, 8, 9, 20, 99}) {
        QuietContext context(2);
        NumberSource failing(1'000);
        failing.fails_at = at;
        int64_t added = 0;
        EXPECT_EQ(caught([&] { add_all(failing, context, [&](int64_t, RunContext&) { added++; }); }).message,
                  "the table is gone");
        EXPECT_LE(added, at);
        NumberSource source(1'000);
        const auto refuse_at = [&](int64_t number, RunContext&) {
            if (number == at) throw CannotDecide{"wide"};
        };
        EXPECT_THROW(add_all(source, context, refuse_at), CannotDecide);
        EXPECT_LE(source.given, at + 20);
        EXPECT_EQ(context.memory().used(), 0U);
    }
}

// Takes its time to say that the caller gave up, so that the other thread has begun.
class HesitantContext : public ImpatientContext {
  public:
    using ImpatientContext::ImpatientContext;
    bool keep_going() override {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return ImpatientContext::keep_going();
    }
};

TEST(ReadAhead, MayBeCancelledAtAnyPoll) {
    int cancelled = 0;
    for (int round = 0; round < 5; round++)
        for (uint64_t polls = 0; polls < 4; polls++) {
            HesitantContext context(polls, 2);
            NumberSource source(60);
            try {
                add_all(source, context, [](int64_t, RunContext&) {});
            } catch (const Cancelled&) {
                cancelled++;
            }
            EXPECT_EQ(context.memory().used(), 0U);
        }
    EXPECT_GT(cancelled, 5);
}

// What the source throws is thrown on, though the other thread found earlier that it could not go on.
TEST(ReadAhead, TheSourcesFailureCounts) {
    static constexpr int64_t last = 16;
    std::atomic<bool> reads_last = false, refused = false;
    class FailingSource : public NumberSource {
      public:
        FailingSource(std::atomic<bool>& reads_last, std::atomic<bool>& refused)
            : NumberSource(1'000), reads_last_(reads_last), refused_(refused) {}
        void next(RowBatch& batch) override {
            if (given < last) return NumberSource::next(batch);
            reads_last_ = true;
            while (!refused_) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            throw Error(ErrorCode::null_value, "the table is gone");
        }

      private:
        std::atomic<bool>&reads_last_, &refused_;
    } source(reads_last, refused);
    const auto refuse = [&](int64_t number, RunContext&) {
        if (number < 8) return;
        while (!reads_last) std::this_thread::yield();
        refused = true;
        throw CannotDecide{"wide"};
    };
    QuietContext context(2);
    EXPECT_EQ(caught([&] { add_all(source, context, refuse); }).message, "the table is gone");
}

// The thread that adds takes long over one batch, while the main thread waits for room.
TEST(ReadAhead, CancelledWhileTheOtherThreadAdds) {
    static constexpr int64_t last = 20;
    class UntilAdded : public QuietContext {
      public:
        explicit UntilAdded(const std::atomic<int64_t>& added) : QuietContext(2), added_(added) {}
        bool keep_going() override { return added_ <= last; }

      private:
        const std::atomic<int64_t>& added_;
    };
    std::atomic<int64_t> added = 0;
    UntilAdded context(added);
    NumberSource source(1'000);
    const auto add_for_long = [&](int64_t number, RunContext& of_thread) {
        added = number + 1;
        while (number == last) of_thread.poll();
    };
    EXPECT_THROW(add_all(source, context, add_for_long), Cancelled);
    EXPECT_EQ(added, last + 1);
    EXPECT_LE(source.given, last + 21);
}

} // namespace
} // namespace btml::relational
