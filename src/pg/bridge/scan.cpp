#include "pg/bridge/scan.hpp"

#include <exception>

namespace btml::pg {

namespace {

// Rows for which room is made at once, and after which the memory of detoasted and converted values is given back.
constexpr uint64_t rows_per_batch = 1024;
constexpr uint64_t rows_per_progress = 65536;

struct Receiver {
    DestReceiver interface; // first: PostgreSQL sees only this
    std::span<const ColumnSink> sinks;
    RunContext* context;
    const char* relation;
    MemoryContext scratch;
    uint64_t rows;
    uint64_t expected_rows; // the planner's estimate
    std::exception_ptr* failure;
};

// Makes room for a batch of rows; for all that are expected when they are the first, unless that would take much of the
// budget: the planner may be wrong.
void reserve(const Receiver& receiver) {
    uint64_t rows = rows_per_batch;
    if (receiver.rows == 0) {
        const MemoryBudget& budget = receiver.context->memory();
        const uint64_t affordable = (budget.limit() - budget.used()) / 4 / sizeof(double) / (receiver.sinks.size() + 1);
        rows = std::max(rows, std::min(receiver.expected_rows + rows_per_batch, affordable));
    }
    for (const ColumnSink& sink : receiver.sinks) {
        if (sink.numbers)
            sink.numbers->reserve(sink.numbers->size() + rows);
        else if (sink.keys)
            sink.keys->reserve(sink.keys->size() + rows);
        else
            sink.codes->reserve(sink.codes->size() + rows);
    }
}

uint32_t label_code(const ColumnSink& sink, Datum value) {
    if (sink.enums) return sink.enums->number(static_cast<int64_t>(DatumGetObjectId(value)));
    return sink.labels->number(label_of(value, sink.label));
}

void append(const ColumnSink& sink, Datum value, bool null) {
    if (sink.numbers)
        sink.numbers->append_reserved(null ? null_number : to_number(value, sink.number));
    else if (sink.keys)
        sink.keys->append_reserved(null ? relational::null_key : sink.dictionary->number(value, sink.type));
    else if (null)
        sink.codes->append_reserved(relational::DataColumn::null_code);
    else
        sink.codes->append_reserved(sink.datums ? sink.datums->number(value) : label_code(sink, value));
}

// One row of the query. A C++ exception stops the scan and waits in `failure`; a PostgreSQL error may leave by longjmp,
// so no object with a destructor lives here.
bool receive(TupleTableSlot* slot, DestReceiver* self) {
    auto* const receiver = reinterpret_cast<Receiver*>(self);
    slot_getallattrs(slot);
    const MemoryContext before = MemoryContextSwitchTo(receiver->scratch);
    bool more = true;
    try {
        if (receiver->rows % rows_per_batch == 0) reserve(*receiver);
        for (const ColumnSink& sink : receiver->sinks)
            append(sink, slot->tts_values[sink.position], slot->tts_isnull[sink.position]);
        if (++receiver->rows > relational::max_rows)
            throw Error(ErrorCode::limit_exceeded,
                        format("\"%s\" has more rows than the %llu that a table of a join may have", receiver->relation,
                               static_cast<unsigned long long>(relational::max_rows)));
        if (receiver->rows % rows_per_progress == 0) receiver->context->progress("reading tables", receiver->rows, 0);
    } catch (...) {
        *receiver->failure = std::current_exception();
        more = false;
    }
    MemoryContextSwitchTo(before);
    if (receiver->rows % rows_per_batch == 0) MemoryContextReset(receiver->scratch);
    return more;
}

void start_up(DestReceiver*, int, TupleDesc) {}
void do_nothing(DestReceiver*) {}

// Rows of a plain table are not worth sending through a Gather node, and a serial scan that starts at the first page
// gives them in the same order each time.
void run(const Query* query, const char* sql, Receiver* receiver) {
    const int guc_level = NewGUCNestLevel();
    set_config_option("synchronize_seqscans", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
    Query* const copy = static_cast<Query*>(copyObjectImpl(query));
    PlannedStmt* const plan = pg_plan_query(copy, sql, query->hasAggs ? CURSOR_OPT_PARALLEL_OK : 0, nullptr);
    receiver->expected_rows = static_cast<uint64_t>(std::clamp(plan->planTree->plan_rows, 0.0, 1e10));
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
    MemoryContextDelete(receiver->scratch);
}

} // namespace

uint64_t scan(const Query* query, const char* sql, const char* relation, const std::vector<ColumnSink>& sinks,
              RunContext& context) {
    std::exception_ptr failure;
    Receiver receiver = {};
    receiver.interface.receiveSlot = receive;
    receiver.interface.rStartup = start_up;
    receiver.interface.rShutdown = do_nothing;
    receiver.interface.rDestroy = do_nothing;
    receiver.interface.mydest = DestNone;
    receiver.sinks = sinks;
    receiver.context = &context;
    receiver.relation = relation;
    receiver.failure = &failure;
    receiver.scratch =
        pg_call([] { return AllocSetContextCreate(CurrentMemoryContext, "btml scan", ALLOCSET_DEFAULT_SIZES); });
    context.progress("reading tables", 0, 0);
    pg_call([&] { run(query, sql, &receiver); });
    if (failure) std::rethrow_exception(failure);
    return receiver.rows;
}

} // namespace btml::pg
