#include "pg/bridge/running_calls.hpp"

#include "pg/bridge/guard.hpp"
#include "pg/bridge/nodes.hpp"

extern "C" {
#include "access/xact.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"
}

namespace btml::pg {

// A reader copies the fields between two readings of `changes`, which is odd while the owner writes.
struct ProgressSlot {
    pg_atomic_uint32 pid; // 0: free
    pg_atomic_uint32 changes;
    char function[48], phase[48]; // function is empty until the owner has filled the slot
    int64 done, total;
    TimestampTz started;
    // The part of what is measured that was done when the call was seen first, and now; negative: nothing is measured.
    double first_fraction, fraction;
    TimestampTz first_seen, last_moved;
};

namespace {

using ProgressSlots = std::array<ProgressSlot, 64>;

void initialise(void* memory) {
    memset(memory, 0, sizeof(ProgressSlots));
    for (ProgressSlot& slot : *static_cast<ProgressSlots*>(memory)) {
        pg_atomic_init_u32(&slot.pid, 0);
        pg_atomic_init_u32(&slot.changes, 0);
    }
}

ProgressSlots* attached = nullptr;
bool unavailable = false;

// Emptied before it is free, so that nobody sees the next owner with what the last one did.
void release(ProgressSlot& slot) {
    pg_atomic_fetch_add_u32(&slot.changes, 1);
    slot.function[0] = '\0';
    pg_atomic_fetch_add_u32(&slot.changes, 1);
    pg_atomic_write_u32(&slot.pid, 0);
}

double seconds_between(TimestampTz from, TimestampTz to) {
    return static_cast<double>(to - from) / USECS_PER_SEC;
}

// A session that is terminated in the middle of a call leaves without destructors.
void release_slots(int, Datum) {
    for (ProgressSlot& slot : *attached)
        if (pg_atomic_read_u32(&slot.pid) == static_cast<uint32>(MyProcPid)) release(slot);
}

// Null when shared memory has no room left, and until the next call where it cannot be attached to. Inside pg_call.
ProgressSlots* attach() {
    if (!attached && !unavailable && btml_compat_may_attach()) {
        attached =
            static_cast<ProgressSlots*>(btml_compat_shared_memory("btml progress", sizeof(ProgressSlots), initialise));
        unavailable = attached == nullptr;
        if (attached) before_shmem_exit(release_slots, static_cast<Datum>(0));
    }
    return attached;
}

ProgressSlot* claim() {
    ProgressSlots* const all = attach();
    if (!all) return nullptr;
    for (ProgressSlot& slot : *all) {
        uint32 nobody = 0;
        if (pg_atomic_compare_exchange_u32(&slot.pid, &nobody, static_cast<uint32>(MyProcPid))) return &slot;
    }
    return nullptr;
}

} // namespace

ProgressLine::ProgressLine(const char* function) : slot_(pg_call([] { return claim(); })) {
    if (!slot_) return;
    pg_atomic_fetch_add_u32(&slot_->changes, 1);
    strlcpy(slot_->function, function, sizeof(slot_->function));
    strlcpy(slot_->phase, "starting", sizeof(slot_->phase));
    slot_->done = slot_->total = 0;
    slot_->started = GetCurrentTimestamp();
    slot_->first_fraction = slot_->fraction = -1;
    pg_atomic_fetch_add_u32(&slot_->changes, 1);
}

ProgressLine::~ProgressLine() {
    if (slot_) release(*slot_);
}

// Returns the seconds until the call ends at the rate so far, or a negative number where too little is done to say.
static double remaining_seconds(const ProgressSlot& slot) {
    constexpr double min_done = 0.01;
    const double done = slot.fraction - slot.first_fraction;
    if (slot.fraction < 0 || done < min_done) return -1;
    return seconds_between(slot.first_seen, slot.last_moved) / done * (1 - slot.fraction);
}

void ProgressLine::tell_seconds(double left) {
    constexpr double long_seconds = 60;
    tells_minutes_ = false;
    if (left <= long_seconds) return;
    const double minutes = std::round(left / 60);
    notice(format("%s will take about %.0f more minute%s", slot_->function, minutes, minutes > 1 ? "s" : ""), "",
           "btml.progress shows how far it is.");
}

void ProgressLine::update(const char* phase, uint64_t done, uint64_t total, double fraction) {
    if (!slot_) return;
    const bool begins_again = fraction < slot_->fraction, is_first = begins_again || slot_->fraction < 0;
    const bool moves = fraction > slot_->fraction;
    const TimestampTz now = moves ? GetCurrentTimestamp() : 0;
    pg_atomic_fetch_add_u32(&slot_->changes, 1);
    if (begins_again) slot_->fraction = slot_->first_fraction = -1;
    if (moves) {
        slot_->fraction = fraction;
        slot_->last_moved = now;
        if (is_first) {
            slot_->first_fraction = fraction;
            slot_->first_seen = now;
        }
    }
    strlcpy(slot_->phase, phase, sizeof(slot_->phase));
    slot_->done = static_cast<int64>(done);
    slot_->total = static_cast<int64>(total);
    pg_atomic_fetch_add_u32(&slot_->changes, 1);
    constexpr double observed_seconds = 5;
    if (!tells_minutes_ || !moves || seconds_between(slot_->first_seen, now) < observed_seconds) return;
    const double left = remaining_seconds(*slot_);
    if (left >= 0) tell_seconds(left);
}

// A consistent copy of a slot in use and filled, or false.
static bool read_slot(ProgressSlot& slot, ProgressSlot& copy) {
    for (int attempt = 0; attempt < 100; attempt++) {
        const uint32 before = pg_atomic_read_u32(&slot.changes);
        pg_read_barrier();
        memcpy(&copy, &slot, sizeof(copy));
        pg_read_barrier();
        if (before % 2 == 0 && pg_atomic_read_u32(&slot.changes) == before)
            return pg_atomic_read_u32(&copy.pid) != 0 && copy.function[0] != '\0';
    }
    return false;
}

// Returns nothing where the call should have moved or ended by now.
static std::optional<double> seconds_left(const ProgressSlot& slot) {
    const double seconds = remaining_seconds(slot) - seconds_between(slot.last_moved, GetCurrentTimestamp());
    if (seconds < 0) return std::nullopt;
    return seconds;
}

std::vector<RunningCall> running_calls() {
    std::vector<RunningCall> calls;
    ProgressSlots* const all = pg_call([] { return attach(); });
    if (!all) return calls;
    for (ProgressSlot& shared : *all) {
        ProgressSlot slot;
        if (read_slot(shared, slot))
            calls.push_back({static_cast<int>(pg_atomic_read_u32(&slot.pid)), slot.function, slot.phase, slot.done,
                             slot.total, slot.started, seconds_left(slot)});
    }
    return calls;
}

} // namespace btml::pg
