// Lets a long computation ask its host: may I go on, here is how far I am, how much memory and how many
// threads may I use. One RunContext serves one call of one SQL function.
#pragma once

#include "core/base/error.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace btml {

// Bytes held against a limit. Thread-safe.
class MemoryBudget {
  public:
    explicit MemoryBudget(uint64_t limit_bytes) : limit_(limit_bytes) {}
    virtual ~MemoryBudget() = default;
    MemoryBudget(const MemoryBudget&) = delete;
    MemoryBudget& operator=(const MemoryBudget&) = delete;

    // Error memory_limit, naming `what`, the bytes needed in all and the limit, when the bytes do not fit; nothing is
    // counted then.
    void acquire(uint64_t bytes, const char* what);
    void release(uint64_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
    // Checks as acquire does, counting nothing: for an estimate before work starts.
    void require(uint64_t bytes, const char* what) const;

    // Gives a Buffer its memory as realloc does: malloc's, unless a host has its own. Nothing is counted.
    virtual void* resize_block(void* block, size_t bytes) { return std::realloc(block, bytes); }
    virtual void free_block(void* block) noexcept { std::free(block); }
    virtual void* zeros(size_t bytes) { return std::calloc(bytes, 1); }

    uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
    uint64_t limit() const noexcept { return limit_; }
    uint64_t left() const noexcept { return limit_ - std::min(limit_, used()); }

  private:
    const uint64_t limit_;
    std::atomic<uint64_t> used_{0};
};

// Bytes held against a budget on behalf of what cannot count by itself, such as containers of the standard library.
class Reservation {
  public:
    // Error memory_limit, as of MemoryBudget::acquire.
    Reservation(MemoryBudget& budget, const char* what, uint64_t bytes = 0) : budget_(&budget), what_(what) {
        grow(bytes);
    }
    ~Reservation() { budget_->release(bytes_); }
    Reservation(Reservation&& other) noexcept
        : budget_(other.budget_), what_(other.what_), bytes_(std::exchange(other.bytes_, 0)) {}
    Reservation& operator=(Reservation&& other) noexcept {
        std::swap(budget_, other.budget_);
        std::swap(what_, other.what_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }

    void grow(uint64_t bytes) {
        budget_->acquire(bytes, what_);
        bytes_ += bytes;
    }

  private:
    MemoryBudget* budget_;
    const char* what_;
    uint64_t bytes_ = 0;
};

// Asks for a CUDA device. Results may then differ in their last digits.
struct DeviceRequest {
    std::string library; // the path of btml_cuda.so; empty: the processor does all
    std::string failure; // why it is not used; empty where it is, or was not needed
};

class RunContext {
  public:
    RunContext(uint64_t memory_limit_bytes, int threads)
        : own_memory_(memory_limit_bytes), memory_(own_memory_), threads_(threads) {}
    // What is held counts against another context's memory, which must outlive this one.
    RunContext(MemoryBudget& memory, int threads) : own_memory_(0), memory_(memory), threads_(threads) {}
    virtual ~RunContext() = default;
    RunContext(const RunContext&) = delete;
    RunContext& operator=(const RunContext&) = delete;

    // Main thread only; cheap, to be called about every 10 ms of work. False: stop soon, the caller gave up.
    virtual bool keep_going() = 0;
    // Main thread only. `phase` need not outlive the call. total 0: unknown.
    virtual void progress(const char* phase, uint64_t done, uint64_t total) = 0;
    // The same of a phase that makes up the innermost Share or, outside of any, all that is left of the call.
    void share_progress(const char* phase, uint64_t done, uint64_t total) {
        reached(total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0);
        progress(phase, done, total);
    }
    // Main thread only. Says that this part of the innermost Share is done, from 0 to 1; progress then shows it.
    void reached(double part) {
        if (length_ > 0) fraction_ = std::max(fraction_, begin_ + length_ * std::clamp(part, 0.0, 1.0));
    }
    // Main thread only. Forgets what was reached, as the work begins again in another way.
    void begin_again() noexcept { fraction_ = -1; }
    // Returns the part that is done of what is measured, which begins with the first that was reached and ends with the
    // call; a negative number before that. It never falls, but where work begins again.
    double fraction() const noexcept { return fraction_; }
    // Main thread only. For people who asked for a verbose run.
    virtual void note(std::string_view text) = 0;

    void poll() {
        if (!keep_going()) throw Cancelled{};
    }
    // Main thread only. Counts work of about 10 ns a unit, such as a byte read or written, and polls when it adds up.
    void worked(uint64_t units) {
        since_poll_ += units;
        if (since_poll_ < units_between_polls) [[likely]]
            return;
        since_poll_ = 0;
        poll();
    }
    // Main thread only. Calls body(i) for each 0 ≤ i < count, so many units of work each, and polls in between.
    template <class Body>
    void for_each(uint64_t count, uint64_t units, Body&& body) {
        in_blocks(count, units, [&](uint64_t begin, uint64_t end) {
            for (uint64_t i = begin; i < end; i++) body(i);
        });
    }
    // Does the same with body(begin, end) for consecutive ranges.
    template <class Body>
    void in_blocks(uint64_t count, uint64_t units, Body&& body) {
        const uint64_t block = std::max<uint64_t>(1, units_between_polls / units);
        for (uint64_t begin = 0; begin < count; begin += block) {
            const uint64_t end = std::min(count, begin + block);
            body(begin, end);
            worked((end - begin) * units);
        }
    }
    MemoryBudget& memory() noexcept { return memory_; }
    int threads() const noexcept { return threads_; }
    // Main thread only.
    DeviceRequest& device() noexcept { return device_; }

  private:
    friend class Share;

    static constexpr uint64_t units_between_polls = uint64_t{1} << 18;

    MemoryBudget own_memory_;
    MemoryBudget& memory_;
    const int threads_;
    DeviceRequest device_;
    uint64_t since_poll_ = 0;
    double fraction_ = -1, begin_ = 0, length_ = 1; // the last two: of the innermost Share
};

// While it lives, what is done is the part from `begin` to `end` of the share around it, 0 ≤ begin ≤ end ≤ 1; of the
// call where there is none. Where nobody knows which part that will be, it is Share(context, 0, 0), and nothing moves.
class Share {
  public:
    Share(RunContext& context, double begin, double end)
        : context_(context), outer_begin_(context.begin_), outer_length_(context.length_) {
        context.begin_ += outer_length_ * begin;
        context.length_ *= end - begin;
        if (context.fraction_ >= 0) context.reached(0);
    }
    // The share number i of so many equal ones.
    static Share of(RunContext& context, size_t i, size_t count) {
        const auto all = static_cast<double>(count);
        return {context, static_cast<double>(i) / all, static_cast<double>(i + 1) / all};
    }
    ~Share() {
        context_.begin_ = outer_begin_;
        context_.length_ = outer_length_;
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

  private:
    RunContext& context_;
    const double outer_begin_, outer_length_;
};

// The host of tests and benchmarks: never cancels, shows nothing.
class QuietContext : public RunContext {
  public:
    explicit QuietContext(int threads = 1, uint64_t memory_limit_bytes = uint64_t{1} << 40)
        : RunContext(memory_limit_bytes, threads) {}
    bool keep_going() override { return true; }
    void progress(const char*, uint64_t, uint64_t) override {}
    void note(std::string_view) override {}
};

} // namespace btml
