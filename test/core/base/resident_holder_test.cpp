#include "core/base/resident_holder.hpp"

#include "core/base/buffer.hpp"

#include "caught.hpp"

#include <gtest/gtest.h>

namespace btml {
namespace {

using test::caught;
using test::ImpatientContext;

// A message of one number.
Bytes message_of(int number) {
    Bytes item = to_bytes(number), message = to_bytes(item.size());
    message.insert(message.end(), item.begin(), item.end());
    return message;
}

int number_of(const Bytes& item) {
    int number;
    from_bytes(item, number);
    return number;
}

// Answers with the sum of all numbers so far, until one is 0.
void add_up(Holder& peers, RunContext&) {
    int sum = 0;
    for (;;) {
        const int number = number_of(peers.listen());
        if (number == 0) return;
        peers.answer(to_bytes(sum += number));
    }
}

// Gives a message, and returns the answer.
Bytes exchange(ResidentHolder& resident, const Bytes& message, RunContext& caller) {
    resident.post(message);
    return resident.collect(caller);
}

constexpr uint64_t limit = uint64_t{1} << 20;

TEST(ResidentHolder, GoesOnFromMessageToMessage) {
    MemoryBudget memory(limit);
    QuietContext context;
    ResidentHolder resident(add_up, memory, 1);
    EXPECT_EQ(exchange(resident, message_of(5), context), message_of(5));
    EXPECT_EQ(exchange(resident, message_of(2), context), message_of(7));
    EXPECT_FALSE(resident.has_ended());
    EXPECT_EQ(exchange(resident, message_of(0), context), Bytes{});
    EXPECT_TRUE(resident.has_ended());
    EXPECT_EQ(caught([&] { exchange(resident, message_of(1), context); }).code, ErrorCode::internal);
}

TEST(ResidentHolder, EndsInTheMiddleOfItsWork) {
    MemoryBudget memory(limit);
    QuietContext context;
    int left = 0;
    struct Count {
        int& left;
        ~Count() { left++; }
    };
    const auto work = [&](Holder& peers, RunContext& own) {
        const Count count{left};
        add_up(peers, own);
    };
    { ResidentHolder never_started(work, memory, 1); }
    EXPECT_EQ(left, 0);
    {
        ResidentHolder resident(work, memory, 1);
        exchange(resident, message_of(5), context);
    }
    EXPECT_EQ(left, 1);
}

TEST(ResidentHolder, ErrorsAndLimitsAreTheCallers) {
    MemoryBudget memory(limit);
    QuietContext context;
    ResidentHolder failing(
        [](Holder& peers, RunContext&) {
            peers.listen();
            throw Error(ErrorCode::out_of_range, "a row is odd");
        },
        memory, 1);
    EXPECT_EQ(caught([&] { exchange(failing, message_of(1), context); }).message, "a row is odd");
    EXPECT_TRUE(failing.has_ended());
    ResidentHolder large([](Holder&, RunContext& own) { Buffer<double>(own.memory(), "rows", limit); }, memory, 1);
    EXPECT_EQ(caught([&] { exchange(large, message_of(1), context); }).code, ErrorCode::memory_limit);
    // What is no message at all.
    ResidentHolder resident(add_up, memory, 1);
    EXPECT_EQ(caught([&] { exchange(resident, Bytes(3), context); }).code, ErrorCode::internal);
}

TEST(ResidentHolder, ShowsItsProgress) {
    struct Watching : QuietContext {
        void progress(const char* phase, uint64_t done, uint64_t total) override {
            EXPECT_EQ(format("%s %d of %d", phase, static_cast<int>(done), static_cast<int>(total)), "adding 1 of 2");
            has_seen = true;
        }
        std::atomic<bool> has_seen{false};
    } caller;
    MemoryBudget memory(limit);
    ResidentHolder resident(
        [&](Holder&, RunContext& own) {
            own.progress("adding", 1, 2);
            while (!caller.has_seen) own.poll();
        },
        memory, 1);
    EXPECT_EQ(exchange(resident, message_of(1), caller), Bytes{});
}

TEST(ResidentHolder, CallersMayGiveUp) {
    MemoryBudget memory(limit);
    ResidentHolder endless(
        [](Holder&, RunContext& own) {
            for (;;) own.poll();
        },
        memory, 1);
    ImpatientContext caller(3);
    EXPECT_THROW(exchange(endless, message_of(1), caller), Cancelled);
    EXPECT_TRUE(endless.has_ended());
}

} // namespace
} // namespace btml
