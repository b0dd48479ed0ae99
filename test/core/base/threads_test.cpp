#include "core/base/threads.hpp"

#include "caught.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <stdexcept>

namespace btml {
namespace {

using test::caught;
using test::ImpatientContext;

TEST(ThreadTeam, EveryItemExactlyOnce) {
    for (int threads : {1, 2, 3, 8}) {
        QuietContext context(threads);
        ThreadTeam team(context);
        EXPECT_EQ(team.size(), threads);
        for (size_t count : {0, 1, 2, 7, 1'000, 20'000}) {
            const auto times = std::make_unique<std::atomic<int>[]>(count + 1);
            std::atomic<bool> known_workers{true};
            team.for_each(count, [&](size_t item, int worker) {
                times[item]++;
                if (worker < 0 || worker >= team.size()) known_workers = false;
            });
            for (size_t item = 0; item < count; item++) ASSERT_EQ(times[item], 1) << item;
            EXPECT_EQ(times[count], 0);
            EXPECT_TRUE(known_workers);
        }
    }
}

TEST(ThreadTeam, ManyRoundsOfFewItems) {
    QuietContext context(4);
    ThreadTeam team(context);
    std::atomic<uint64_t> sum{0};
    for (uint64_t round = 0; round < 5'000; round++) team.for_each(3, [&](size_t item, int) { sum += item; });
    EXPECT_EQ(sum, 15'000U);
}

// A thread that waits looks out for a while and then sleeps; both ends of a round meet both.
TEST(ThreadTeam, RoundsThatComeSoonAndLate) {
    QuietContext context(3);
    ThreadTeam team(context);
    std::atomic<uint64_t> sum{0};
    const auto pause = [](uint64_t number) { std::this_thread::sleep_for(std::chrono::microseconds(150 * number)); };
    for (uint64_t round = 0; round < 300; round++) {
        pause(round % 4);
        team.for_each(3, [&](size_t item, int) {
            if (item == round % 3) pause(round / 4 % 4);
            sum += item + 1;
        });
        ASSERT_EQ(sum, 6 * (round + 1));
    }
}

TEST(ThreadTeam, WorkerNumberBelongsToOneThread) {
    QuietContext context(4);
    ThreadTeam team(context);
    std::vector<std::thread::id> thread_of(4);
    thread_of[0] = std::this_thread::get_id();
    std::atomic<int> mixed{0};
    for (int round = 0; round < 50; round++)
        team.for_each(64, [&](size_t, int worker) {
            std::thread::id& id = thread_of[static_cast<size_t>(worker)];
            if (id == std::thread::id()) id = std::this_thread::get_id();
            if (id != std::this_thread::get_id()) mixed++;
        });
    EXPECT_EQ(mixed, 0);
}

// Waits until someone sets the flag; false after two seconds.
bool wait_for(const std::atomic<bool>& flag) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (!flag && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return flag;
}

TEST(ThreadTeam, WorkersDoTakeItems) {
    QuietContext context(2);
    ThreadTeam team(context);
    std::atomic<bool> other{false};
    std::atomic<bool> met{false};
    team.for_each(2, [&](size_t, int worker) {
        if (worker == 1) other = true;
        if (wait_for(other)) met = true;
    });
    EXPECT_TRUE(met);
}

TEST(ThreadTeam, FirstExceptionArrivesAndTheTeamGoesOn) {
    for (int threads : {1, 4}) {
        QuietContext context(threads);
        ThreadTeam team(context);
        for (int round = 0; round < 100; round++) {
            std::atomic<int> items{0};
            const auto error = caught([&] {
                team.for_each(100'000, [&](size_t item, int) {
                    items++;
                    if (item == 5) throw Error(ErrorCode::out_of_range, "item 5");
                    // Else a thread that is put to sleep before it can stop the others finds them done.
                    if (item > 5) std::this_thread::sleep_for(std::chrono::microseconds(1));
                });
            });
            ASSERT_TRUE(error.thrown);
            EXPECT_EQ(error.message, "item 5");
            EXPECT_LT(items, 100'000); // handing out stopped
            int after = 0;
            std::mutex mutex;
            team.for_each(10, [&](size_t, int) {
                const std::lock_guard lock(mutex);
                after++;
            });
            EXPECT_EQ(after, 10);
        }
    }
}

TEST(ThreadTeam, AnyExceptionFromAWorkerArrives) {
    QuietContext context(2);
    ThreadTeam team(context);
    std::atomic<bool> thrown{false};
    EXPECT_THROW(team.for_each(2,
                               [&](size_t, int worker) {
                                   if (worker == 1) {
                                       thrown = true;
                                       throw std::runtime_error("from a worker");
                                   }
                                   wait_for(thrown);
                               }),
                 std::runtime_error);
}

TEST(ThreadTeam, CancelStopsIt) {
    for (int threads : {1, 3}) {
        ImpatientContext context(3);
        // ImpatientContext has one thread; the team is made for as many as its context says.
        struct Host : RunContext {
            Host(ImpatientContext& inner, int threads) : RunContext(1 << 20, threads), inner_(inner) {}
            bool keep_going() override { return inner_.keep_going(); }
            void progress(const char*, uint64_t, uint64_t) override {}
            void note(std::string_view) override {}
            ImpatientContext& inner_;
        } host(context, threads);
        ThreadTeam team(host);
        std::atomic<int> items{0};
        EXPECT_THROW(team.for_each(1'000'000,
                                   [&](size_t, int) {
                                       items++;
                                       std::this_thread::yield();
                                   }),
                     Cancelled);
        EXPECT_LT(items, 1'000'000);
    }
}

TEST(ThreadTeam, HostIsAskedOnTheMainThreadOnly) {
    struct Host : QuietContext {
        Host() : QuietContext(4) {}
        bool keep_going() override {
            polls++;
            if (std::this_thread::get_id() != main) elsewhere++;
            return true;
        }
        std::thread::id main = std::this_thread::get_id();
        std::atomic<int> polls{0}, elsewhere{0};
    } host;
    ThreadTeam team(host);
    team.for_each(10'000, [](size_t, int) {});
    EXPECT_GT(host.polls, 0);
    EXPECT_EQ(host.elsewhere, 0);
}

TEST(ThreadTeam, SignalsAreBlockedInWorkersOnly) {
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    QuietContext context(2);
    ThreadTeam team(context);
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    std::atomic<int> unblocked{0};
    std::atomic<bool> looked{false};
    team.for_each(2, [&](size_t, int worker) {
        if (worker == 1) {
            sigset_t mask;
            pthread_sigmask(SIG_SETMASK, nullptr, &mask);
            for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGQUIT, SIGCHLD, SIGPIPE})
                if (!sigismember(&mask, signal)) unblocked++;
            looked = true;
        }
        wait_for(looked);
    });
    EXPECT_TRUE(looked);
    EXPECT_EQ(unblocked, 0);
    for (int signal = 1; signal < 32; signal++) EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
}

TEST(ThreadTeam, HasNoMoreThreadsThanAskedFor) {
    QuietContext context(8);
    EXPECT_EQ(ThreadTeam(context, 3).size(), 3);
    EXPECT_EQ(ThreadTeam(context, 1).size(), 1);
    EXPECT_EQ(ThreadTeam(context, 20).size(), 8);
}

// The main thread, done with its item, polls while another one works on, and stops it.
TEST(ThreadTeam, MainThreadPollsWhileItWaits) {
    QuietContext context(2);
    ThreadTeam team(context);
    std::atomic<bool> started{false}, stop{false};
    int calls = 0;
    EXPECT_THROW(team.for_each(
                     2,
                     [&](size_t, int worker) {
                         started = started || worker == 1;
                         while (worker == 0 ? !started : !stop) std::this_thread::yield();
                     },
                     [&] {
                         if (++calls < 3) return;
                         stop = true;
                         throw Cancelled{};
                     }),
                 Cancelled);
    EXPECT_EQ(calls, 3);
    std::atomic<int> items{0};
    team.for_each(
        100, [&](size_t, int) { items++; }, [] {});
    EXPECT_EQ(items, 100);
}

} // namespace
} // namespace btml
