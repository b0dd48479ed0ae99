#include "core/base/resident_holder.hpp"

#include "core/base/signals_blocked.hpp"
#include "core/base/worker_contexts.hpp"

#include <chrono>
#include <string>
#include <system_error>
#include <tuple>

namespace btml {

static Bytes take(std::optional<Bytes>& from) {
    Bytes bytes = std::move(*from);
    from.reset();
    return bytes;
}

// The work's own, since a caller's is for the caller's thread.
class ResidentHolder::Context : public WorkerContext {
  public:
    using WorkerContext::WorkerContext;
    void progress(const char* phase, uint64_t done, uint64_t total) override {
        const std::lock_guard lock(mutex_);
        shown_ = {std::string(phase), done, total};
    }
    void show(RunContext& caller) {
        const std::lock_guard lock(mutex_);
        const auto& [phase, done, total] = shown_;
        if (!phase.empty()) caller.progress(phase.c_str(), done, total);
    }

  private:
    std::mutex mutex_;
    std::tuple<std::string, uint64_t, uint64_t> shown_; // as of the last progress()
};

class ResidentHolder::Waiting : public Holder {
  public:
    Waiting(ResidentHolder& resident, const Bytes& first) : Holder(first), resident_(resident) {}

  private:
    Bytes exchange(const Bytes& answer) override {
        std::unique_lock lock(resident_.mutex_);
        resident_.answer_ = answer;
        resident_.changed_.notify_all();
        resident_.changed_.wait(lock, [&] { return resident_.message_ || resident_.stopped_; });
        if (resident_.stopped_) throw Cancelled{};
        return take(resident_.message_);
    }

    ResidentHolder& resident_;
};

ResidentHolder::ResidentHolder(Body body, MemoryBudget& memory, int threads)
    : context_(std::make_unique<Context>(nullptr, stopped_, memory, threads)), body_(std::move(body)) {}

ResidentHolder::~ResidentHolder() {
    stop();
}

void ResidentHolder::stop() noexcept {
    {
        std::lock_guard lock(mutex_);
        stopped_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

bool ResidentHolder::has_ended() const {
    std::lock_guard lock(mutex_);
    return ended_ || stopped_;
}

Bytes ResidentHolder::take_message() {
    std::lock_guard lock(mutex_);
    return take(message_);
}

void ResidentHolder::run(const Body& body) {
    std::exception_ptr failure;
    Bytes last;
    try {
        Waiting peers(*this, take_message());
        body(peers, *context_);
        last = peers.last_answer();
    } catch (...) {
        failure = std::current_exception();
    }
    std::lock_guard lock(mutex_);
    failure_ = failure;
    if (!failure) answer_ = std::move(last);
    ended_ = true;
    changed_.notify_all();
}

void ResidentHolder::post(const Bytes& message) {
    std::lock_guard lock(mutex_);
    if (ended_ || stopped_) throw Error(ErrorCode::internal, "the rows that were held for a fit are not held any more");
    if (asked_) refuse_message();
    asked_ = true;
    message_ = message;
    if (!thread_.joinable()) {
        const SignalsBlocked blocked;
        try {
            thread_ = std::thread([this] { run(body_); });
        } catch (const std::system_error&) {
            throw Error(ErrorCode::limit_exceeded, "no thread is to be had for the rows of a fit");
        }
    }
    changed_.notify_all();
}

Bytes ResidentHolder::collect(RunContext& caller) {
    using namespace std::chrono_literals;
    std::unique_lock lock(mutex_);
    if (!asked_) refuse_message();
    asked_ = false;
    while (!changed_.wait_for(lock, 10ms, [&] { return answer_ || ended_; })) {
        lock.unlock();
        context_->show(caller);
        if (!caller.keep_going()) {
            stop();
            throw Cancelled{};
        }
        lock.lock();
    }
    if (failure_) {
        lock.unlock();
        stop();
        std::rethrow_exception(failure_);
    }
    return take(answer_);
}

} // namespace btml
