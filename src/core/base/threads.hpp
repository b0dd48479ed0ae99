// A fixed team of threads for one computation. The calling (main) thread works too and alone talks to the RunContext.
#pragma once

#include "core/base/peers.hpp"
#include "core/base/run_context.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace btml {

class ThreadTeam {
  public:
    // Starts context.threads() − 1 workers, or `most` − 1, with every signal blocked: signals belong to the host's main
    // thread. Where the system gives fewer threads than asked for, the team is smaller. peers: processes that this one
    // works with, or null.
    explicit ThreadTeam(RunContext& context, int most = std::numeric_limits<int>::max(), Peers* peers = nullptr);
    ~ThreadTeam();
    ThreadTeam(const ThreadTeam&) = delete;
    ThreadTeam& operator=(const ThreadTeam&) = delete;

    // Threads that take part, the main one included: worker numbers are 0 (main) to size() − 1.
    int size() const noexcept { return static_cast<int>(workers_.size()) + 1; }
    Peers* peers() const noexcept { return peers_; }

    // body(item, worker) once for each 0 ≤ item < count, in any order and on any thread; returns when all are done.
    // An item should take well under 50 ms: the main thread polls between its items. The first exception, or Cancelled,
    // stops the handing out of items and is rethrown here once every thread has left the loop; where the main thread
    // threw one too, its own: that may be the host's, which must not get lost. Longer items poll by
    // themselves (see WorkerContexts), and the main thread calls while_waiting every 10 ms until the others are done.
    void for_each(size_t count, const std::function<void(size_t item, int worker)>& body,
                  const std::function<void()>& while_waiting = {});

  private:
    void work(int worker);
    void take_items(int worker);
    void wait_for_others(const std::function<void()>& while_waiting);
    void stop(bool is_main, std::exception_ptr failure);

    RunContext& context_;
    Peers* const peers_;
    std::vector<std::thread> workers_;
    std::mutex mutex_;
    std::condition_variable start_, done_;
    std::atomic<uint64_t> round_{0}; // counts the calls of for_each; written under mutex_
    std::atomic<int> busy_{0};       // workers still in the current round
    std::atomic<bool> quit_{false};  // written under mutex_
    std::exception_ptr failure_;     // guarded by mutex_ during a round, as is the next
    bool is_failure_of_main_ = false;
    const std::function<void(size_t, int)>* body_ = nullptr;
    size_t count_ = 0;
    std::atomic<size_t> next_{0};
};

// Holds a sum for each worker of a team, apart from each other in memory. The total is that of the team and of its
// peers, where there are any: every process must ask for it.
template <class Sum>
class TeamSums {
  public:
    explicit TeamSums(const ThreadTeam& team) : TeamSums(static_cast<size_t>(team.size()), team.peers()) {}
    TeamSums(size_t workers, Peers* peers) : sums_(workers), peers_(peers) {}

    Sum& operator[](int worker) { return sums_[worker].sum; }
    Sum total() const {
        Sum total{};
        for (const Apart& apart : sums_) total += apart.sum;
        if (peers_) peers_->add_up(total);
        return total;
    }

  private:
    struct alignas(64) Apart {
        Sum sum{};
    };
    std::vector<Apart> sums_;
    Peers* const peers_;
};

} // namespace btml
