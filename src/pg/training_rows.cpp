// The SQL type btml.training_rows: an expanded object in memory, flat bytes between processes.
#include "pg/training_rows.hpp"

#include "pg/bridge/arguments.hpp"
#include "pg/bridge/expanded_state.hpp"

extern "C" {
#include "utils/jsonb.h"
}

namespace btml::pg {

namespace {

struct TrainingRows : RowCollection {
    static constexpr const char* type_name = "btml.training_rows";
    static constexpr const char* what = "the rows";
    static constexpr const char* too_large_hint =
        "Aggregate without parallel workers (max_parallel_workers_per_gather = 0), or train over a source.";

    explicit TrainingRows(MemoryBudget& budget) : RowCollection(budget) {}
    explicit TrainingRows(RowCollection rows) : RowCollection(std::move(rows)) {}

    static TrainingRows parse(std::span<const std::byte> bytes, MemoryBudget& budget, RunContext& context) {
        TrainingRows rows(RowCollection::parse(bytes, budget, context));
        require_valid_text(rows.options());
        return rows;
    }
};

using State = ExpandedState<TrainingRows>;

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
    State* const state = State::writable(fcinfo);
    RowCollection& rows = state->content();
    const Datum value = arguments.datum(3, "options");
    const std::string text = pg_call([=] {
        Jsonb* const json = DatumGetJsonbP(value);
        return JsonbToCString(nullptr, &json->root, static_cast<int>(VARSIZE(json)));
    });
    if (rows.options().empty()) check(text);
    rows.set_options(text);
    add_row(rows, arguments);
    return state->datum();
}

Datum train_on_rows(FunctionCallInfo fcinfo, RunContext& context, const TrainOnRows& train) {
    std::optional<TrainingRows> parsed;
    const RowCollection& rows = State::read(fcinfo, parsed, context.memory());
    fcinfo->isnull = rows.rows() == 0;
    return fcinfo->isnull ? static_cast<Datum>(0) : train(rows);
}

// btml.training_rows_accumulate(state, y float8, x float8[]) → state
BTML_FUNCTION(btml_training_rows_accumulate) {
    const Arguments arguments(fcinfo);
    State* const state = State::writable(fcinfo);
    add_row(state->content(), arguments);
    return state->datum();
}

// btml.training_rows_combine(state, state) → state
BTML_FUNCTION(btml_training_rows_combine) {
    return State::combine(fcinfo);
}

BTML_FUNCTION(btml_training_rows_in) {
    return State::input(PG_GETARG_CSTRING(0));
}

BTML_FUNCTION(btml_training_rows_out) {
    return State::output(PG_GETARG_DATUM(0));
}

BTML_FUNCTION(btml_training_rows_recv) {
    return State::receive(reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0)));
}

BTML_FUNCTION(btml_training_rows_send) {
    return State::send(PG_GETARG_DATUM(0));
}

} // namespace btml::pg
