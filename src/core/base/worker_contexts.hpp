// Contexts for computations that a ThreadTeam runs side by side: a RunContext itself serves the main thread only.
#pragma once

#include "core/base/threads.hpp"

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace btml {

// Serves a part of a computation, on whatever thread. The one that made it asks the outer context whether to go on, and
// tells all parts that look at the same `stop`.
class WorkerContext : public RunContext {
  public:
    // outer: null where only `stop` tells. memory: bytes of its own, or a budget that outlives it. name: progress shows
    // it before the phase, and notes begin with it; without a name there are none. Nothing else may use the device of
    // the outer context while a part with a name lives.
    template <class Memory>
    WorkerContext(RunContext* outer, std::atomic<bool>& stop, Memory&& memory, int threads, std::string name = "")
        : RunContext(memory, threads), outer_(outer), stop_(stop), name_(std::move(name)) {
        if (is_shown()) device() = outer_->device();
    }
    ~WorkerContext() override {
        if (is_shown()) outer_->device() = std::move(device());
    }

    bool keep_going() override {
        if (outer_ && std::this_thread::get_id() == main_ && !outer_->keep_going()) stop_ = true;
        return !stop_;
    }
    void progress(const char* phase, uint64_t done, uint64_t total) override {
        if (!is_shown()) return;
        if (fraction() >= 0) outer_->reached(fraction());
        outer_->progress((name_ + ": " + phase).c_str(), done, total);
    }
    void note(std::string_view text) override {
        if (is_shown()) outer_->note(name_ + ": " + std::string(text));
    }

  private:
    bool is_shown() const { return outer_ && !name_.empty(); }

    RunContext* const outer_;
    std::atomic<bool>& stop_;
    const std::string name_;
    const std::thread::id main_ = std::this_thread::get_id();
};

class WorkerContexts {
  public:
    // One for each worker, each with `bytes` of its own, counted against the outer context's memory as `what`; of 0
    // bytes they share that memory.
    WorkerContexts(RunContext& outer, int workers, uint64_t bytes, const char* what)
        : memory_(outer.memory()), bytes_(static_cast<uint64_t>(workers) * bytes) {
        memory_.acquire(bytes_, what);
        for (int i = 0; i < workers; i++)
            contexts_.push_back(bytes > 0 ? std::make_unique<WorkerContext>(&outer, stop_, bytes, 1)
                                          : std::make_unique<WorkerContext>(&outer, stop_, memory_, 1));
    }
    ~WorkerContexts() { memory_.release(bytes_); }
    WorkerContexts(const WorkerContexts&) = delete;
    WorkerContexts& operator=(const WorkerContexts&) = delete;

    // body(context) as the item of a worker. When the main thread is told to stop, the others leave their items half
    // done, and without an exception: the main thread's is the one to report.
    template <class Body>
    void run(int worker, Body&& body) {
        try {
            body(static_cast<RunContext&>(*contexts_[worker]));
        } catch (const Cancelled&) {
            if (worker == 0) throw;
        } catch (...) {
            if (worker == 0) stop_ = true;
            throw;
        }
    }

    // Serves ThreadTeam::for_each while the main thread waits: throws Cancelled, and the others stop, when the caller
    // gave up.
    void poll() {
        if (contexts_.front()->keep_going()) return;
        throw Cancelled{};
    }

  private:
    MemoryBudget& memory_;
    const uint64_t bytes_;
    std::atomic<bool> stop_{false};
    std::vector<std::unique_ptr<WorkerContext>> contexts_;
};

// Calls body(item, context) for each 0 ≤ item < count, as team.for_each() does, with contexts of the workers. These
// share the memory of `outer`, and items end soon where its caller gave up.
template <class Body>
void for_each_item(ThreadTeam& team, size_t count, RunContext& outer, const Body& body) {
    WorkerContexts contexts(outer, team.size(), 0, "");
    team.for_each(
        count, [&](size_t item, int worker) { contexts.run(worker, [&](RunContext& own) { body(item, own); }); },
        [&] { contexts.poll(); });
}

} // namespace btml
