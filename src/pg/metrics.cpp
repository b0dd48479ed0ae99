// SQL aggregates of metrics: the types btml.metric_sums and btml.metric_rows, transition and final functions.
#include "core/metrics/metric_sums.hpp"
#include "core/metrics/ranked_rows.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/expanded_state.hpp"

namespace btml::pg {

using metrics::Metric;
using metrics::MetricSums;
using metrics::RankedRows;

namespace {

constexpr StateNames sums_names{"btml.metric_sums", "the sums", ""}; // they have a few thousand bytes
constexpr StateNames rows_names{"btml.metric_rows", "the rows",
                                "Aggregate without parallel workers (max_parallel_workers_per_gather = 0)."};
using SumsState = ExpandedState<MetricSums, sums_names>;
using RowsState = ExpandedState<RankedRows, rows_names>;

// Tells whether a row's argument after the state is NULL, which skips the row.
bool has_null(FunctionCallInfo fcinfo) {
    bool null = false;
    for (int i = 1; i < fcinfo->nargs; i++) null |= fcinfo->args[i].isnull;
    return null;
}

double number_of(bool positive) {
    return positive ? 1 : 0;
}

// The body of a transition function (state, so many arguments [, weight]) → state, where read(numbers) gives the metric
// its numbers.
template <class Read>
Datum add_to_sums(FunctionCallInfo fcinfo, const Metric& metric, int arguments, const Read& read) {
    if (has_null(fcinfo)) return argument_or_null(fcinfo, 0);
    SumsState* const state = SumsState::writable(fcinfo);
    std::array<double, Metric::max_arguments> numbers;
    read(numbers.data());
    const double weight = PG_NARGS() > arguments + 1 ? PG_GETARG_FLOAT8(arguments + 1) : 1;
    state->content().add(metric, numbers.data(), PG_NARGS() > arguments + 1 ? &weight : nullptr);
    return state->datum();
}

Datum add_numbers(FunctionCallInfo fcinfo, const Metric& metric) {
    return add_to_sums(fcinfo, metric, metric.arguments, [&](double* numbers) {
        for (int i = 0; i < metric.arguments; i++) numbers[i] = PG_GETARG_FLOAT8(i + 1);
    });
}

// y boolean, p float8
Datum add_class(FunctionCallInfo fcinfo, const Metric& metric) {
    return add_to_sums(fcinfo, metric, 2, [&](double* numbers) {
        numbers[0] = number_of(PG_GETARG_BOOL(1));
        numbers[1] = PG_GETARG_FLOAT8(2);
    });
}

template <class Equal>
Datum add_agreement(FunctionCallInfo fcinfo, const Equal& equal) {
    return add_to_sums(fcinfo, metrics::accuracy, 2,
                       [&](double* numbers) { *numbers = equal(PG_GETARG_DATUM(1), PG_GETARG_DATUM(2)); });
}

// Labels are equal when their bytes are, as in training.
bool equal_texts(Datum a, Datum b) {
    return pg_call([=] {
        text* const first = DatumGetTextPP(a);
        text* const second = DatumGetTextPP(b);
        const Size length = VARSIZE_ANY_EXHDR(first);
        const bool equal =
            length == VARSIZE_ANY_EXHDR(second) && memcmp(VARDATA_ANY(first), VARDATA_ANY(second), length) == 0;
        if (DatumGetPointer(a) != reinterpret_cast<Pointer>(first)) pfree(first);
        if (DatumGetPointer(b) != reinterpret_cast<Pointer>(second)) pfree(second);
        return equal;
    });
}

using RankedValue = std::optional<double> (RankedRows::*)(RunContext& context) const;

// NULL for nothing.
Datum number_or_null(FunctionCallInfo fcinfo, std::optional<double> value) {
    fcinfo->isnull = !value;
    return value ? pg_call([=] { return Float8GetDatum(*value); }) : static_cast<Datum>(0);
}

Datum ranked_value(FunctionCallInfo fcinfo, const char* function, RankedValue value) {
    if (PG_ARGISNULL(0)) return number_or_null(fcinfo, std::nullopt);
    BackendContext context(function);
    std::optional<RankedRows> parsed;
    const RankedRows& rows = RowsState::read(fcinfo, parsed, context.memory());
    return number_or_null(fcinfo, (rows.*value)(context));
}

} // namespace

// Transition functions (state, x [, weight]) → state, of which each serves both forms.
// (Over a moving window a transition returns no NULL.)
BTML_FUNCTION(btml_exact_sum_accumulate) {
    if (has_null(fcinfo)) return SumsState::writable(fcinfo)->datum();
    return add_numbers(fcinfo, metrics::exact_sum);
}
// btml_internal.exact_sum_remove(state, x) → state; NULL has the window's sum begun anew
BTML_FUNCTION(btml_exact_sum_remove) {
    if (has_null(fcinfo) || PG_ARGISNULL(0)) return argument_or_null(fcinfo, 0);
    SumsState* const state = SumsState::writable(fcinfo);
    if (state->content().remove(PG_GETARG_FLOAT8(1))) return state->datum();
    fcinfo->isnull = true;
    return static_cast<Datum>(0);
}
#define BTML_METRIC_OF_NUMBERS(name)                                                                                   \
    BTML_FUNCTION(btml_##name##_accumulate) {                                                                          \
        return add_numbers(fcinfo, metrics::name);                                                                     \
    }
BTML_METRIC_OF_NUMBERS(rmse)
BTML_METRIC_OF_NUMBERS(mae)
BTML_METRIC_OF_NUMBERS(r2)
BTML_METRIC_OF_NUMBERS(poisson_deviance)
BTML_METRIC_OF_NUMBERS(pinball)
BTML_METRIC_OF_NUMBERS(log_loss)
BTML_METRIC_OF_NUMBERS(brier)
BTML_METRIC_OF_NUMBERS(coverage)
BTML_METRIC_OF_NUMBERS(nll_normal)
BTML_METRIC_OF_NUMBERS(crps_normal)
BTML_METRIC_OF_NUMBERS(nll_student_t)
BTML_FUNCTION(btml_log_loss_class_accumulate) {
    return add_class(fcinfo, metrics::log_loss);
}
BTML_FUNCTION(btml_log_loss_true_accumulate) {
    return add_to_sums(fcinfo, metrics::log_loss, 1, [&](double* numbers) {
        numbers[0] = 1;
        numbers[1] = PG_GETARG_FLOAT8(1);
    });
}
BTML_FUNCTION(btml_brier_class_accumulate) {
    return add_class(fcinfo, metrics::brier);
}
BTML_FUNCTION(btml_accuracy_boolean_accumulate) {
    return add_agreement(fcinfo, [](Datum a, Datum b) { return DatumGetBool(a) == DatumGetBool(b); });
}
BTML_FUNCTION(btml_accuracy_bigint_accumulate) {
    return add_agreement(fcinfo, [](Datum a, Datum b) { return DatumGetInt64(a) == DatumGetInt64(b); });
}
BTML_FUNCTION(btml_accuracy_text_accumulate) {
    return add_agreement(fcinfo, equal_texts);
}

// btml_internal.metric_sums_final(state) → float8: the value of whichever metric the sums are of; NULL where it is not
// defined
BTML_FUNCTION(btml_metric_sums_final) {
    if (PG_ARGISNULL(0)) return number_or_null(fcinfo, std::nullopt);
    MemoryBudget budget(memory_limit_bytes());
    std::optional<MetricSums> parsed;
    return number_or_null(fcinfo, SumsState::read(fcinfo, parsed, budget).result());
}

// btml_internal.ranking_accumulate(state, y boolean, score float8 [, weight float8]) → state
BTML_FUNCTION(btml_ranking_accumulate) {
    if (has_null(fcinfo)) return argument_or_null(fcinfo, 0);
    RowsState* const state = RowsState::writable(fcinfo);
    if (PG_NARGS() > 3)
        state->content().add(number_of(PG_GETARG_BOOL(1)), PG_GETARG_FLOAT8(2), PG_GETARG_FLOAT8(3));
    else
        state->content().add(number_of(PG_GETARG_BOOL(1)), PG_GETARG_FLOAT8(2));
    return state->datum();
}

// btml_internal.ndcg_accumulate(state, relevance float8, score float8, k bigint) → state
BTML_FUNCTION(btml_ndcg_accumulate) {
    if (has_null(fcinfo)) return argument_or_null(fcinfo, 0);
    RowsState* const state = RowsState::writable(fcinfo);
    state->content().set_k(Arguments(fcinfo).integer(3, "k"));
    state->content().add(PG_GETARG_FLOAT8(1), PG_GETARG_FLOAT8(2));
    return state->datum();
}

BTML_FUNCTION(btml_auc_final) {
    return ranked_value(fcinfo, "auc", &RankedRows::auc);
}
BTML_FUNCTION(btml_average_precision_final) {
    return ranked_value(fcinfo, "average_precision", &RankedRows::average_precision);
}
BTML_FUNCTION(btml_ndcg_final) {
    return ranked_value(fcinfo, "ndcg", &RankedRows::ndcg);
}

BTML_STATE_TYPE(metric_sums, SumsState)
BTML_STATE_TYPE(metric_rows, RowsState)

} // namespace btml::pg
