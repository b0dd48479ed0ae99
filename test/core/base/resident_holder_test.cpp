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

constexpr uint64_t limit = uint64_t{1} << 20;

TEST(ResidentHolder, GoesOnFromMessageToMessage) {
    QuietContext context;
    ResidentHolder resident(add_up, limit, 1);
    EXPECT_EQ(resident.exchange(message_of(5), context), message_of(5));
    EXPECT_EQ(resident.exchange(message_of(2), context), message_of(7));
    EXPECT_FALSE(resident.has_ended());
    EXPECT_EQ(resident.exchange(message_of(0), context), Bytes{});
    EXPECT_TRUE(resident.has_ended());
    EXPECT_EQ(caught([&] { resident.exchange(message_of(1), context); }).code, ErrorCode::internal);
}

TEST(ResidentHolder, EndsInTheMiddleOfItsWork) {
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
    { ResidentHolder never_started(work, limit, 1); }
    EXPECT_EQ(left, 0);
    {
        ResidentHolder resident(work, limit, 1);
        resident.exchange(message_of(5), context);
    }
    EXPECT_EQ(left, 1);
}

TEST(ResidentHolder, ErrorsAndLimitsAreTheCallers) {
    QuietContext context;
    ResidentHolder failing(
        [](Holder& peers, RunContext&) {
            peers.listen();
            throw Error(ErrorCode::out_of_range, "a row is odd");
        },
        limit, 1);
    EXPECT_EQ(caught([&] { failing.exchange(message_of(1), context); }).message, "a row is odd");
    EXPECT_TRUE(failing.has_ended());
    ResidentHolder large([](Holder&, RunContext& own) { Buffer<double>(own.memory(), "rows", limit); }, limit, 1);
    EXPECT_EQ(caught([&] { large.exchange(message_of(1), context); }).code, ErrorCode::memory_limit);
    // What is no message at all.
    ResidentHolder resident(add_up, limit, 1);
    EXPECT_EQ(caught([&] { resident.exchange(Bytes(3), context); }).code, ErrorCode::internal);
}

TEST(ResidentHolder, CallersMayGiveUp) {
    ResidentHolder endless(
        [](Holder&, RunContext& own) {
            for (;;) own.poll();
        },
        limit, 1);
    ImpatientContext caller(3);
    EXPECT_THROW(endless.exchange(message_of(1), caller), Cancelled);
    EXPECT_TRUE(endless.has_ended());
}

} // namespace
} // namespace btml
