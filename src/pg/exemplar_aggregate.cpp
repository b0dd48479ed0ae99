// The aggregate btml.exemplars_agg and btml.nearest_exemplar.
#include "core/exemplar/row_sample.hpp"
#include "pg/bridge/arguments.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/expanded_state.hpp"
#include "pg/bridge/json.hpp"
#include "pg/bridge/result.hpp"
#include "pg/bridge/values.hpp"
#include "pg/exemplar_json.hpp"

extern "C" {
#include "utils/jsonb.h"
}

namespace btml::pg {

using exemplar::Exemplar;
using exemplar::RowSample;
using exemplar::Selection;

namespace {

using State = ExpandedState<RowSample>;

// How the ids of a call site become texts.
struct IdRule {
    LabelRule label;
    bool is_number;
};

const IdRule& id_rule(FunctionCallInfo fcinfo) {
    if (!fcinfo->flinfo->fn_extra) {
        fcinfo->flinfo->fn_extra = pg_call([=] {
            const Oid type = get_fn_expr_argtype(fcinfo->flinfo, 1);
            if (!OidIsValid(type))
                ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE), errmsg("the type of id is not known")));
            const MemoryContext context = fcinfo->flinfo->fn_mcxt;
            auto* const rule = static_cast<IdRule*>(MemoryContextAllocZero(context, sizeof(IdRule)));
            rule->label = label_rule(getBaseType(type), context);
            rule->is_number = is_plain_number(number_kind(type));
            return rule;
        });
    }
    return *static_cast<const IdRule*>(fcinfo->flinfo->fn_extra);
}

Datum json_of(const Selection& selection, bool ids_are_numbers, RunContext& context) {
    JsonWriter json(context);
    json.begin_array();
    for (const Exemplar& exemplar : selection.exemplars) {
        json.begin_object();
        // NaN and Infinity are numbers, but not of JSON.
        const bool plain =
            ids_are_numbers && exemplar.has_id && isdigit(static_cast<unsigned char>(exemplar.id.back()));
        if (!exemplar.has_id)
            json.add_json("id", "null");
        else if (plain)
            json.add_json("id", exemplar.id);
        else
            json.add("id", exemplar.id);
        json.begin_array("x");
        for (const double x : exemplar.x) json.add_item(x);
        json.end_array();
        json.add("members", exemplar.members);
        json.end_object();
    }
    json.end_array();
    return json.datum();
}

} // namespace

// btml.exemplars_accumulate(state, id anyelement, x float8[], k int) → state
BTML_FUNCTION(btml_exemplars_accumulate) {
    const Arguments arguments(fcinfo);
    State* const state = State::writable(fcinfo);
    const IdRule& rule = id_rule(fcinfo);
    const std::vector<double> x = arguments.numbers(2, "x");
    const int k = arguments.integer(3, "k");
    exemplar::SampledRow row{{}, !arguments.is_null(1), x};
    if (row.has_id) {
        const Datum id = arguments.datum(1, "id");
        row.id = pg_call([&] { return label_of(id, rule.label); });
    }
    BackendContext context;
    state->content().add(row, k, rule.is_number, context);
    return state->datum();
}

// btml.exemplars_combine(state, state) → state
BTML_FUNCTION(btml_exemplars_combine) {
    return State::combine(fcinfo);
}

// btml.exemplars_final(state) → jsonb; NULL when there was no row
BTML_FUNCTION(btml_exemplars_final) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    BackendContext context("exemplars_agg");
    std::optional<RowSample> parsed;
    const RowSample& sample = State::read(fcinfo, parsed, context.memory());
    if (sample.rows() == 0) PG_RETURN_NULL();
    return json_of(sample.select(context), sample.ids_are_numbers(), context);
}

BTML_FUNCTION(btml_exemplar_sample_in) {
    return State::input(PG_GETARG_CSTRING(0));
}

BTML_FUNCTION(btml_exemplar_sample_out) {
    return State::output(PG_GETARG_DATUM(0));
}

BTML_FUNCTION(btml_exemplar_sample_recv) {
    return State::receive(reinterpret_cast<StringInfo>(PG_GETARG_POINTER(0)));
}

BTML_FUNCTION(btml_exemplar_sample_send) {
    return State::send(PG_GETARG_DATUM(0));
}

// btml.nearest_exemplar(x float8[], exemplars jsonb, dissimilarity text) → text
BTML_FUNCTION(btml_nearest_exemplar) {
    const Arguments arguments(fcinfo);
    const std::string dissimilarity = arguments.string(2, "dissimilarity");
    if (arguments.is_null(0) || arguments.is_null(1)) PG_RETURN_NULL();
    const std::vector<double> x = arguments.numbers(0, "x");
    BackendContext context;
    const ExemplarList& exemplars = cached_exemplars(fcinfo, arguments.datum(1, "exemplars"), context);
    const std::optional<size_t> nearest = find_nearest(exemplars, x, dissimilarity);
    if (!nearest || !exemplars.ids[*nearest]) PG_RETURN_NULL();
    return text_datum(*exemplars.ids[*nearest]);
}

} // namespace btml::pg
