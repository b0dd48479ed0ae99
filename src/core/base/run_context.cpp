#include "core/base/run_context.hpp"

#include <limits>

namespace btml {

static constexpr uint64_t kib = 1024;

void MemoryBudget::require(uint64_t bytes, const char* what) const {
    const uint64_t held = used();
    if (bytes <= limit_ && held <= limit_ - bytes) return;
    const uint64_t total =
        bytes > std::numeric_limits<uint64_t>::max() - held ? std::numeric_limits<uint64_t>::max() : held + bytes;
    throw Error(ErrorCode::memory_limit,
                format("memory required is %" PRIu64 " kB, btml.memory_limit is %" PRIu64 " kB",
                       total / kib + (total % kib != 0), limit_ / kib),
                format("The memory was to hold %s.", what), "Raise btml.memory_limit, or read fewer rows or columns.");
}

void MemoryBudget::acquire(uint64_t bytes, const char* what) {
    uint64_t held = used_.load(std::memory_order_relaxed);
    do {
        if (bytes > limit_ || held > limit_ - bytes) require(bytes, what);
    } while (!used_.compare_exchange_weak(held, held + bytes, std::memory_order_relaxed));
}

} // namespace btml
