// A process's part of a common computation that outlives the calls that bring its messages: between two of them it
// waits on a thread of its own, in the middle of its work, with all that it holds.
#pragma once

#include "core/base/peers.hpp"
#include "core/base/run_context.hpp"

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace btml {

class ResidentHolder {
  public:
    using Body = std::function<void(Holder& peers, RunContext& context)>;

    // body runs from the first message on; what it holds is counted against this memory, which outlives it.
    ResidentHolder(Body body, MemoryBudget& memory, int threads);
    // Ends the work where it is.
    ~ResidentHolder();
    ResidentHolder(const ResidentHolder&) = delete;
    ResidentHolder& operator=(const ResidentHolder&) = delete;

    // Gives the work a message. Error internal where the answer to the last one was not collected, or the work has
    // ended.
    void post(const Bytes& message);
    // Returns what the work answers when it can do no more without another message, or is done. The caller polls
    // meanwhile, and shows the progress of the work as its own. Errors: those of the work, which has ended then;
    // Cancelled where the caller gave up, which ends the work; internal where no message was posted.
    Bytes collect(RunContext& caller);
    bool has_ended() const;

  private:
    class Context;
    class Waiting;

    Bytes take_message();
    void run(const Body& body);
    void stop() noexcept;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<Bytes> message_, answer_; // on their way
    std::atomic<bool> stopped_{false};      // written under mutex_
    bool ended_ = false;
    bool asked_ = false; // a message was posted whose answer nobody has collected
    std::exception_ptr failure_;
    std::unique_ptr<Context> context_;
    const Body body_;
    std::thread thread_; // starts with the first message
};

} // namespace btml
