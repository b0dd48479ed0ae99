#include "pg/bridge/scan.hpp"

#include <exception>

extern "C" {
#include "common/hashfn.h"
#include "utils/datum.h"
#include "utils/float.h"
}

namespace btml::pg {

using relational::Key;

DatumDictionary::DatumDictionary(MemoryBudget& budget, Oid type, Oid collation)
    : index_(budget, "a dictionary of keys"), values_(budget, "a dictionary of keys"), collation_(collation) {
    const TypeCacheEntry* const entry =
        pg_call([=] { return lookup_type_cache(type, TYPECACHE_HASH_PROC_FINFO | TYPECACHE_EQ_OPR_FINFO); });
    if (!OidIsValid(entry->hash_proc) || !OidIsValid(entry->eq_opr)) {
        const char* const name = pg_call([=] { return format_type_be(type); });
        throw Error(ErrorCode::wrong_type, format("type %s has no default hash operator class", name));
    }
    length_ = entry->typlen;
    by_value_ = entry->typbyval;
    pg_call([=, this] {
        context_ = AllocSetContextCreate(CurrentMemoryContext, "btml distinct values", ALLOCSET_DEFAULT_SIZES);
        hash_ = static_cast<FmgrInfo*>(palloc(sizeof(FmgrInfo)));
        equal_ = static_cast<FmgrInfo*>(palloc(sizeof(FmgrInfo)));
        fmgr_info_copy(hash_, const_cast<FmgrInfo*>(&entry->hash_proc_finfo), CurrentMemoryContext);
        fmgr_info_copy(equal_, const_cast<FmgrInfo*>(&entry->eq_opr_finfo), CurrentMemoryContext);
    });
}

uint32_t DatumDictionary::number(Datum value) {
    const auto next = static_cast<uint32_t>(values_.size());
    const uint32_t hash = DatumGetUInt32(FunctionCall1Coll(hash_, collation_, value));
    const uint32_t number = index_.find_or_add(hash, next, [&](uint32_t other) {
        return DatumGetBool(FunctionCall2Coll(equal_, collation_, values_[other], value));
    });
    if (number == next) {
        const MemoryContext before = MemoryContextSwitchTo(context_);
        values_.push_back(datumCopy(value, by_value_, length_));
        MemoryContextSwitchTo(before);
    }
    return number;
}

KeyDictionary::KeyDictionary(MemoryBudget& budget, const KeyType& type)
    : kind_(type.kind), integers_(budget), texts_(budget) {
    if (kind_ == KeyKind::generic) generic_ = std::make_unique<DatumDictionary>(budget, type.type, type.collation);
}

static int64_t integer_of(Datum value, Oid type) {
    switch (type) {
    case INT2OID:
        return DatumGetInt16(value);
    case INT4OID:
        return DatumGetInt32(value);
    default:
        return DatumGetInt64(value);
    }
}

// −0 equals 0, and every NaN every other.
static int64_t real_bits(Datum value, Oid type) {
    double number = type == FLOAT4OID ? static_cast<double>(DatumGetFloat4(value)) : DatumGetFloat8(value);
    if (number == 0) number = 0;
    return std::bit_cast<int64_t>(from_sql(number));
}

// A Datum's bytes beyond the length of its type may be anything.
static int64_t value_bits(Datum value, Oid type) {
    switch (type) {
    case TIMEOID:
    case TIMESTAMPOID:
    case TIMESTAMPTZOID:
        return DatumGetInt64(value);
    case BOOLOID:
        return DatumGetBool(value);
    case CHAROID:
        return DatumGetChar(value);
    default: // date, oid, enum
        return DatumGetInt32(value);
    }
}

static std::string_view bytes_of(Datum value, Oid type) {
    if (type == NAMEOID) return NameStr(*DatumGetName(value));
    if (type == UUIDOID) return {reinterpret_cast<const char*>(DatumGetPointer(value)), 16};
    struct varlena* const bytes = PG_DETOAST_DATUM_PACKED(value);
    return {VARDATA_ANY(bytes), static_cast<size_t>(VARSIZE_ANY_EXHDR(bytes))};
}

Key KeyDictionary::number(Datum value, Oid type) {
    switch (kind_) {
    case KeyKind::integer:
        return integers_.number(integer_of(value, type));
    case KeyKind::real:
        return integers_.number(real_bits(value, type));
    case KeyKind::by_value:
        return integers_.number(value_bits(value, type));
    case KeyKind::bytes:
        return texts_.number(bytes_of(value, type));
    case KeyKind::generic:
        break;
    }
    return generic_->number(value);
}

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
    switch (sink.label) {
    case LabelKind::text:
        return sink.labels->number(bytes_of(value, TEXTOID));
    case LabelKind::name:
        return sink.labels->number(bytes_of(value, NAMEOID));
    case LabelKind::bpchar: {
        // As the cast to text does.
        std::string_view text = bytes_of(value, BPCHAROID);
        while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
        return sink.labels->number(text);
    }
    case LabelKind::boolean:
        return sink.integers->number(DatumGetBool(value));
    case LabelKind::enumeration:
        return sink.integers->number(static_cast<int64_t>(DatumGetObjectId(value)));
    case LabelKind::output:
        break;
    }
    return sink.labels->number(OutputFunctionCall(sink.output_function, value));
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
