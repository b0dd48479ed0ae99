#include "pg/bridge/backend_context.hpp"

#include "pg/bridge/settings.hpp"

#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace btml::pg {

// Blocks of megabytes that were freed make glibc's malloc keep up to 64 MB of free memory from then on, because it
// raises its thresholds (mallopt(3), M_MMAP_THRESHOLD).
static void give_back_free_memory() noexcept {
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
    constexpr size_t worth_while = 8 << 20;
    if (mallinfo2().fordblks < worth_while) return;
#endif
    malloc_trim(0);
#endif
}

BackendContext::BackendContext(const char* function, bool verbose, uint64_t max_bytes)
    : RunContext(std::min(max_bytes, memory_limit_bytes()), thread_count()), verbose_(verbose) {
    device().library = cuda_library();
    if (function) line_.emplace(function);
}

BackendContext::~BackendContext() {
    if (line_) give_back_free_memory();
}

bool BackendContext::keep_going() {
    if (!InterruptPending) [[likely]]
        return true;
    // A cancel or a termination must find the core's threads joined and its memory freed, so the core unwinds first and
    // the boundary raises it. Other interrupts (barriers, requests to log) are served here.
    if (QueryCancelPending || btml_compat_terminating()) return InterruptHoldoffCount != 0;
    pg_call([] { CHECK_FOR_INTERRUPTS(); });
    return true;
}

void BackendContext::progress(const char* phase, uint64_t done, uint64_t total) {
    if (line_) line_->update(phase, done, total, fraction());
}

void BackendContext::note(std::string_view text) {
    const auto now = std::chrono::steady_clock::now();
    if (!verbose_ || now - last_note_ < std::chrono::seconds(1)) return;
    last_note_ = now;
    pg_call([=] { ereport(INFO, (errmsg("%.*s", static_cast<int>(text.size()), text.data()))); });
}

void tell_device_failure(RunContext& context) {
    const std::string& failure = context.device().failure;
    if (!failure.empty()) notice("the CPU does what btml.device was to do: " + failure);
}

} // namespace btml::pg
