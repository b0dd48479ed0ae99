// The SQL type btml.training_rows: an expanded object in memory, flat bytes between processes.
#include "pg/source/aggregated_rows.hpp"

#include "pg/values/arguments.hpp"
#include "pg/values/expanded_state.hpp"
#include "pg/values/named_options.hpp"
#include "pg/values/values.hpp"

extern "C" {
#include "utils/jsonb.h"
}

namespace btml::pg {

namespace {

constexpr StateNames names{
    "btml.training_rows", "the rows",
    "Aggregate without parallel workers (max_parallel_workers_per_gather = 0), or train over a source."};
using State = ExpandedState<RowCollection, names>;

// An aggregate's row: y and x after the state, and a weight at this place, where there is one.
void add_row(RowCollection& rows, const Arguments& arguments, TargetKind kind, int weight_place) {
    if (arguments.is_null(1)) {
        rows.skip();
        return;
    }
    const std::vector<double> features = arguments.numbers(2, "x");
    std::optional<double> weight;
    if (arguments.count() > weight_place)
        weight = arguments.is_null(weight_place) ? null_number : from_sql(arguments.number(weight_place, "weight"));
    if (kind == TargetKind::label) {
        const Datum label = arguments.datum(1, "y");
        rows.add(pg_call([=] { return bytes_of(label, TEXTOID); }), features, weight);
        return;
    }
    const double target =
        kind == TargetKind::boolean ? static_cast<double>(arguments.boolean(1, "y")) : arguments.number(1, "y");
    rows.add({kind, weight.has_value()}, target, features, weight.value_or(1));
}

Datum accumulate(FunctionCallInfo fcinfo, TargetKind kind) {
    State* const state = State::writable(fcinfo);
    add_row(state->content(), Arguments(fcinfo), kind, 3);
    return state->datum();
}

// As jsonb shows it.
std::string options_text(const Arguments& arguments, OptionsAs form) {
    if (arguments.is_null(3))
        throw Error(ErrorCode::null_value, "argument \"options\" must not be NULL", "", "Use '{}' for none.");
    if (form == OptionsAs::jsonb) return json_text(arguments.datum(3, "options"));
    const std::string text = arguments.string(3, "options");
    const char* const source = text.c_str();
    return json_text(pg_call([=] { return DirectFunctionCall1(jsonb_in, CStringGetDatum(source)); }));
}

} // namespace

Datum accumulate_with_options(FunctionCallInfo fcinfo, void (*check)(const std::string& options), TargetKind kind,
                              OptionsAs form) {
    const Arguments arguments(fcinfo);
    State* const state = State::writable(fcinfo);
    RowCollection& rows = state->content();
    const std::string text = options_text(arguments, form);
    if (rows.options().empty()) check(text);
    rows.set_options(text);
    add_row(rows, arguments, kind, 4);
    return state->datum();
}

Datum train_on_rows(FunctionCallInfo fcinfo, RunContext& context, const TrainOnRows& train) {
    std::optional<RowCollection> parsed;
    const RowCollection& rows = State::read(fcinfo, parsed, context.memory());
    fcinfo->isnull = rows.rows() == 0;
    if (fcinfo->isnull) return static_cast<Datum>(0);
    const Reservation labels(context.memory(), "the labels of an aggregate", rows.label_bytes());
    return train(rows);
}

void notice_no_model(const Error& reason, bool& is_told) {
    if (std::exchange(is_told, true)) return;
    notice("a model is NULL: " + reason.message(), first_in_call, reason.hint());
}

// btml_internal.training_rows_accumulate(state, y float8, x float8[] [, weight float8]) → state
BTML_FUNCTION(btml_training_rows_accumulate) {
    return accumulate(fcinfo, TargetKind::number);
}

// btml_internal.training_rows_accumulate(state, y boolean, x float8[] [, weight float8]) → state
BTML_FUNCTION(btml_training_rows_accumulate_boolean) {
    return accumulate(fcinfo, TargetKind::boolean);
}

// btml_internal.training_rows_accumulate(state, y text, x float8[] [, weight float8]) → state
BTML_FUNCTION(btml_training_rows_accumulate_label) {
    return accumulate(fcinfo, TargetKind::label);
}

BTML_STATE_TYPE(training_rows, State)

} // namespace btml::pg
