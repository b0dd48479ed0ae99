// Contexts for computations that a ThreadTeam runs side by side: a RunContext itself serves the main thread only.
#pragma once

#include "core/base/run_context.hpp"

#include <memory>
#include <vector>

namespace btml {

class WorkerContexts {
  public:
    // One for each worker, each with `bytes` of its own, counted against the outer context's memory as `what`.
    WorkerContexts(RunContext& outer, int workers, uint64_t bytes, const char* what)
        : memory_(outer.memory()), bytes_(static_cast<uint64_t>(workers) * bytes) {
        memory_.acquire(bytes_, what);
        for (int i = 0; i < workers; i++)
            contexts_.push_back(std::make_unique<Worker>(i == 0 ? &outer : nullptr, stop_, bytes));
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
    class Worker : public RunContext {
      public:
        Worker(RunContext* outer, std::atomic<bool>& stop, uint64_t bytes)
            : RunContext(bytes, 1), outer_(outer), stop_(stop) {}
        bool keep_going() override {
            if (outer_ && !outer_->keep_going()) stop_ = true;
            return !stop_;
        }
        void progress(const char*, uint64_t, uint64_t) override {}
        void note(std::string_view) override {}

      private:
        RunContext* const outer_;
        std::atomic<bool>& stop_;
    };

    MemoryBudget& memory_;
    const uint64_t bytes_;
    std::atomic<bool> stop_{false};
    std::vector<std::unique_ptr<Worker>> contexts_;
};

} // namespace btml
