// The SQL type btml.training_rows: an expanded object in memory, flat bytes between processes.
#include "pg/training_rows.hpp"

#include "pg/bridge/arguments.hpp"
#include "pg/bridge/bytes.hpp"
#include "pg/guc.hpp"

extern "C" {
#include "utils/expandeddatum.h"
#include "utils/jsonb.h"
}

namespace btml::pg {

namespace {

// What a state owns: its rows, counted against a budget of their own.
struct OwnedRows {
    MemoryBudget budget{memory_limit_bytes()};
    RowCollection rows{budget};
};

struct ExpandedRows {
    ExpandedObjectHeader header; // first: PostgreSQL sees only this
    OwnedRows* owned;
    MemoryContextCallback callback;
};

Size flat_size(ExpandedObjectHeader* header) {
    const uint64_t size = VARHDRSZ + reinterpret_cast<ExpandedRows*>(header)->owned->rows.flat_size();
    if (size > MaxAllocSize)
        ereport(
            ERROR,
            (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
             errmsg("the rows of one aggregate state need %llu bytes, a value may have %llu",
                    static_cast<unsigned long long>(size), static_cast<unsigned long long>(MaxAllocSize)),
             errhint(
                 "Aggregate without parallel workers (max_parallel_workers_per_gather = 0), or train over a source.")));
    return size;
}

void flatten(ExpandedObjectHeader* header, void* result, Size size) {
    SET_VARSIZE(result, size);
    reinterpret_cast<ExpandedRows*>(header)->owned->rows.flatten(reinterpret_cast<std::byte*>(VARDATA(result)));
}

const ExpandedObjectMethods methods = {flat_size, flatten};

ExpandedRows* as_expanded(Datum value) {
    if (!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value))) return nullptr;
    ExpandedObjectHeader* const header = DatumGetEOHP(value);
    return header->eoh_methods == &methods ? reinterpret_cast<ExpandedRows*>(header) : nullptr;
}

// A flat state. Error corrupt_model for bytes that are none.
RowCollection parse_rows(std::span<const std::byte> bytes, MemoryBudget& budget) {
    try {
        RowCollection rows = RowCollection::parse(bytes, budget);
        require_valid_text(rows.options());
        return rows;
    } catch (const Error& error) {
        if (error.code() != ErrorCode::corrupt_model) throw;
        throw Error(ErrorCode::corrupt_model, "invalid btml.training_rows value", error.detail());
    }
}

// An empty state whose memory goes with `parent`.
ExpandedRows* new_state(MemoryContext parent) {
    auto owned = std::make_unique<OwnedRows>();
    ExpandedRows* const state = pg_call([=] {
        const MemoryContext context = AllocSetContextCreate(parent, "btml rows", ALLOCSET_SMALL_SIZES);
        auto* const expanded = static_cast<ExpandedRows*>(MemoryContextAllocZero(context, sizeof(ExpandedRows)));
        EOH_init_header(&expanded->header, &methods, context);
        return expanded;
    });
    state->callback.func = [](void* object) { delete static_cast<OwnedRows*>(object); };
    state->callback.arg = state->owned = owned.release();
    MemoryContextRegisterResetCallback(state->header.eoh_context, &state->callback);
    return state;
}

// The state that argument 0 holds, ready to be changed.
ExpandedRows* writable_state(FunctionCallInfo fcinfo) {
    MemoryContext context = nullptr;
    if (!AggCheckCallContext(fcinfo, &context))
        throw Error(ErrorCode::invalid_argument, "support functions of aggregates cannot be called directly");
    if (PG_ARGISNULL(0)) return new_state(context);
    const Datum value = PG_GETARG_DATUM(0);
    if (ExpandedRows* const state = as_expanded(value); state && VARATT_IS_EXTERNAL_EXPANDED_RW(DatumGetPointer(value)))
        return state;
    ExpandedRows* const state = new_state(context);
    if (const ExpandedRows* const other = as_expanded(value))
        state->owned->rows.append(other->owned->rows);
    else
        state->owned->rows = parse_rows(datum_bytes(value), state->owned->budget);
    return state;
}

Datum state_datum(ExpandedRows* state) {
    return EOHPGetRWDatum(&state->header);
}

// An aggregate's row, after the state: y, x.
void add_row(RowCollection& rows, const Arguments& arguments) {
    if (arguments.is_null(1))
        rows.skip();
    else
        rows.add(arguments.number(1, "y"), arguments.numbers(2, "x"));
}

} // namespace

Datum accumulate_with_options(FunctionCallInfo fcinfo, void (*check)(const std::string& options)) {
    const Arguments arguments(fcinfo);
    ExpandedRows* const state = writable_state(fcinfo);
    RowCollection& rows = state->owned->rows;
    const Datum value = arguments.datum(3, "options");
    const std::string text = pg_call([=] {
        Jsonb* const json = DatumGetJsonbP(value);
        return JsonbToCString(nullptr, &json->root, static_cast<int>(VARSIZE(json)));
    });
    if (rows.options().empty()) check(text);
    rows.set_options(text);
    add_row(rows, arguments);
    return state_datum(state);
}

Datum train_on_rows(FunctionCallInfo fcinfo, RunContext& context, const TrainOnRows& train) {
    const Datum value = PG_GETARG_DATUM(0);
    std::optional<RowCollection> parsed;
    const ExpandedRows* const expanded = as_expanded(value);
    if (!expanded) parsed.emplace(parse_rows(datum_bytes(value), context.memory()));
    const RowCollection& rows = expanded ? expanded->owned->rows : *parsed;
    fcinfo->isnull = rows.rows() == 0;
    return fcinfo->isnull ? static_cast<Datum>(0) : train(rows);
}

// btml.training_rows_accumulate(state, y float8, x float8[]) → state
BTML_FUNCTION(btml_training_rows_accumulate) {
    const Arguments arguments(fcinfo);
    ExpandedRows* const state = writable_state(fcinfo);
    add_row(state->owned->rows, arguments);
    return state_datum(state);
}

// btml.training_rows_combine(state, state) → state
BTML_FUNCTION(btml_training_rows_combine) {
    if (PG_ARGISNULL(1)) {
        fcinfo->isnull = PG_ARGISNULL(0);
        return PG_ARGISNULL(0) ? static_cast<Datum>(0) : state_datum(writable_state(fcinfo));
    }
    ExpandedRows* const state = writable_state(fcinfo);
    const Datum other = PG_GETARG_DATUM(1);
    if (const ExpandedRows* const expanded = as_expanded(other))
        state->owned->rows.append(expanded->owned->rows);
    else {
        MemoryBudget budget(memory_limit_bytes());
        state->owned->rows.append(parse_rows(datum_bytes(other), budget));
    }
    return state_datum(state);
}

// Input and output of the transition type: base64 of its flat form, or its bytes. Anybody may call them.
BTML_FUNCTION(btml_training_rows_in) {
    const std::span<const std::byte> bytes = decode_base64(PG_GETARG_CSTRING(0), "btml.training_rows");
    MemoryBudget budget(memory_limit_bytes());
    parse_rows(bytes, budget);
    return bytes_datum(bytes);
}

BTML_FUNCTION(btml_training_rows_out) {
    return encode_base64(datum_bytes(PG_GETARG_DATUM(0)));
}

BTML_FUNCTION(btml_training_rows_recv) {
    const std::span<const std::byte> bytes = message_bytes(reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0)));
    MemoryBudget budget(memory_limit_bytes());
    parse_rows(bytes, budget);
    return bytes_datum(bytes);
}

BTML_FUNCTION(btml_training_rows_send) {
    return bytes_datum(datum_bytes(PG_GETARG_DATUM(0)));
}

} // namespace btml::pg
