#include "pg/source/query_rows.hpp"

#include "pg/bridge/nodes.hpp"

#include <exception>

extern "C" {
#include "access/detoast.h"
}

namespace btml::pg {

namespace {

// After so many rows, or bytes, the memory of detoasted and converted values is given back.
constexpr uint64_t rows_per_batch = 1024;
constexpr size_t max_scratch_bytes = size_t{1} << 18;
constexpr uint64_t rows_per_progress = 65536;

struct Receiver {
    DestReceiver interface; // first: PostgreSQL sees only this
    RowSink* sink;
    RunContext* context;
    const char* phase;
    MemoryContext scratch;
    uint64_t rows;
    std::exception_ptr* failure;
};

// Returns how many bytes the row's values take that are stored apart or compressed, once they are whole.
uint64_t bytes_to_unpack(const TupleTableSlot* slot) {
    uint64_t bytes = 0;
    for (int i = 0; i < slot->tts_nvalid; i++) {
        if (slot->tts_isnull[i] || TupleDescAttr(slot->tts_tupleDescriptor, i)->attlen != -1) continue;
        const Datum value = slot->tts_values[i];
        const auto* const stored = reinterpret_cast<struct varlena*>(DatumGetPointer(value));
        if (VARATT_IS_EXTERNAL(stored) || VARATT_IS_COMPRESSED(stored)) bytes += toast_raw_datum_size(value);
    }
    return bytes;
}

// One row of the query. A C++ exception stops the scan and waits in `failure`; what PostgreSQL says of an error lies in
// the scratch memory, which then stays for as long as the memory around it.
bool receive(TupleTableSlot* slot, DestReceiver* self) {
    auto* const receiver = reinterpret_cast<Receiver*>(self);
    slot_getallattrs(slot);
    const MemoryContext before = MemoryContextSwitchTo(receiver->scratch);
    bool more = false;
    try {
        receiver->context->memory().require(bytes_to_unpack(slot), "the values of a row");
        receiver->sink->add(slot->tts_values, slot->tts_isnull);
        if (++receiver->rows % rows_per_progress == 0 && receiver->phase)
            receiver->context->progress(receiver->phase, receiver->rows, 0);
        more = !receiver->sink->has_enough();
    } catch (...) {
        *receiver->failure = std::current_exception();
    }
    MemoryContextSwitchTo(before);
    if (more && (receiver->rows % rows_per_batch == 0 ||
                 MemoryContextMemAllocated(receiver->scratch, false) > max_scratch_bytes))
        MemoryContextReset(receiver->scratch);
    return more;
}

void start_up(DestReceiver*, int, TupleDesc) {}
void do_nothing(DestReceiver*) {}

// Rows of a plain table are not worth sending through a Gather node, and a serial scan that starts at the first page
// gives them in the same order each time.
void run(const Query* query, const char* sql, Planner planner, Receiver* receiver) {
    const int guc_level = NewGUCNestLevel();
    set_config_option("synchronize_seqscans", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
    Query* const copy = copy_of(query);
    PlannedStmt* const plan = planner(copy, sql, query->hasAggs ? CURSOR_OPT_PARALLEL_OK : 0);
    receiver->sink->expect(static_cast<uint64_t>(std::clamp(plan->planTree->plan_rows, 0.0, 1e10)));
    PushActiveSnapshot(GetActiveSnapshot());
    QueryDesc* const description =
        CreateQueryDesc(plan, sql, GetActiveSnapshot(), InvalidSnapshot, &receiver->interface, nullptr, nullptr, 0);
    ExecutorStart(description, 0);
    btml_compat_executor_run(description);
    ExecutorFinish(description);
    ExecutorEnd(description);
    FreeQueryDesc(description);
    PopActiveSnapshot();
    AtEOXact_GUC(true, guc_level);
    if (!*receiver->failure) MemoryContextDelete(receiver->scratch);
}

} // namespace

PlannedStmt* plan_as_ever(Query* query, const char* sql, int cursor_options) {
    return pg_plan_query(query, sql, cursor_options, nullptr);
}

uint64_t run_query(const Query* query, const char* sql, RowSink& sink, const char* phase, RunContext& context,
                   Planner plan) {
    std::exception_ptr failure;
    Receiver receiver = {};
    receiver.interface.receiveSlot = receive;
    receiver.interface.rStartup = start_up;
    receiver.interface.rShutdown = do_nothing;
    receiver.interface.rDestroy = do_nothing;
    receiver.interface.mydest = DestNone;
    receiver.sink = &sink;
    receiver.context = &context;
    receiver.phase = phase;
    receiver.failure = &failure;
    receiver.scratch =
        pg_call([] { return AllocSetContextCreate(CurrentMemoryContext, "btml scan", ALLOCSET_DEFAULT_SIZES); });
    if (phase) context.progress(phase, 0, 0);
    pg_call([&] { run(query, sql, plan, &receiver); });
    if (failure) std::rethrow_exception(failure);
    return receiver.rows;
}

} // namespace btml::pg
