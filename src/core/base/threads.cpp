#include "core/base/threads.hpp"

#include "core/base/signals_blocked.hpp"

#include <new>
#include <system_error>
#include <utility>

namespace btml {

ThreadTeam::ThreadTeam(RunContext& context, int most, Peers* peers) : context_(context), peers_(peers) {
    const int threads = std::min(context.threads(), most);
    const SignalsBlocked blocked;
    // Where no more threads are to be had, the team is smaller: results do not depend on how many there are.
    try {
        for (int i = 1; i < threads; i++) workers_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
}

ThreadTeam::~ThreadTeam() {
    {
        std::lock_guard lock(mutex_);
        quit_ = true;
    }
    start_.notify_all();
    for (std::thread& worker : workers_) worker.join();
}

// Rounds follow each other closely, and it takes tens of microseconds to be woken, so a thread looks out for the next
// one for a while before it sleeps. It yields, since the thread that it waits for may be on the same processor.
template <class Condition>
static bool comes_soon(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    do {
        if (condition()) return true;
        std::this_thread::yield();
    } while (std::chrono::steady_clock::now() < end);
    return false;
}

void ThreadTeam::work(int worker) {
    uint64_t seen = 0;
    const auto has_started = [&] { return quit_ || round_ != seen; };
    for (;;) {
        if (!comes_soon(has_started)) {
            std::unique_lock lock(mutex_);
            start_.wait(lock, has_started);
        }
        if (quit_) return;
        seen = round_;
        take_items(worker);
        if (busy_.fetch_sub(1) > 1) continue;
        // Whoever waits has looked at busy_ under the mutex: before this, or after it was counted down.
        { std::lock_guard lock(mutex_); }
        done_.notify_one();
    }
}

void ThreadTeam::take_items(int worker) {
    try {
        for (;;) {
            if (worker == 0) context_.poll();
            const size_t item = next_.fetch_add(1, std::memory_order_relaxed);
            if (item >= count_) return;
            (*body_)(item, worker);
        }
    } catch (...) {
        stop(worker == 0, std::current_exception());
    }
}

void ThreadTeam::stop(bool is_main, std::exception_ptr failure) {
    next_.store(count_, std::memory_order_relaxed);
    std::lock_guard lock(mutex_);
    if (failure_ && (!is_main || is_failure_of_main_)) return;
    failure_ = std::move(failure);
    is_failure_of_main_ = is_main;
}

void ThreadTeam::wait_for_others(const std::function<void()>& while_waiting) {
    const auto all_done = [&] { return busy_ == 0; };
    if (comes_soon(all_done)) return;
    std::unique_lock lock(mutex_);
    bool stopped = false;
    while (while_waiting && !stopped && !done_.wait_for(lock, std::chrono::milliseconds(10), all_done)) {
        lock.unlock();
        try {
            while_waiting();
        } catch (...) {
            stop(true, std::current_exception());
            stopped = true;
        }
        lock.lock();
    }
    done_.wait(lock, all_done);
}

void ThreadTeam::for_each(size_t count, const std::function<void(size_t, int)>& body,
                          const std::function<void()>& while_waiting) {
    if (count == 0) return;
    const bool shared = count > 1 && !workers_.empty();
    body_ = &body;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);
    failure_ = nullptr;
    is_failure_of_main_ = false;
    if (shared) {
        {
            std::lock_guard lock(mutex_);
            busy_ = static_cast<int>(workers_.size());
            round_++;
        }
        start_.notify_all();
    }
    take_items(0);
    if (shared) wait_for_others(while_waiting);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

} // namespace btml
