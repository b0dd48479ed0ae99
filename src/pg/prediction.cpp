// Predictions for single rows: btml.predict, btml.predict_normal and btml.predict_latent.
#include "pg/prediction.hpp"

#include "pg/bridge/arguments.hpp"
#include "pg/model_cache.hpp"

namespace btml::pg {

namespace {

// Reads the features from a record.
CachedModel& load_record(FunctionCallInfo fcinfo) {
    CachedModel& cached = model_cache(fcinfo).load(PG_GETARG_DATUM(0));
    cached.record.read(PG_GETARG_DATUM(1), cached.values);
    return cached;
}

// Reads the features from an array.
CachedModel& load_array(FunctionCallInfo fcinfo) {
    CachedModel& cached = model_cache(fcinfo).load(PG_GETARG_DATUM(0));
    Arguments(fcinfo).read_numbers(1, "features", cached.values);
    require_width(cached.values, cached.features);
    return cached;
}

Datum predict(CachedModel& cached) {
    double value;
    if (auto* const trees = std::get_if<boosting::Predictor>(&cached.predictor))
        value = (*trees)(cached.values);
    else
        value = cached.gp_predictor("predict").latent(cached.values).mean;
    return Float8GetDatum(value);
}

// btml.normal, the result type of the call.
Datum normal_datum(FunctionCallInfo fcinfo, const gp::Normal& normal) {
    const TupleDesc columns = model_cache(fcinfo).result_columns(fcinfo);
    const double sd = std::sqrt(normal.variance);
    return pg_call([=] {
        Datum values[] = {Float8GetDatum(normal.mean), Float8GetDatum(sd)};
        bool nulls[std::size(values)] = {};
        return HeapTupleGetDatum(heap_form_tuple(columns, values, nulls));
    });
}

Datum predict_normal(FunctionCallInfo fcinfo, CachedModel& cached) {
    return normal_datum(fcinfo, cached.gp_predictor("predict_normal").observation(cached.values));
}

Datum predict_latent(FunctionCallInfo fcinfo, CachedModel& cached) {
    return normal_datum(fcinfo, cached.gp_predictor("predict_latent").latent(cached.values));
}

} // namespace

void require_width(const std::vector<double>& values, const std::vector<Feature>& features) {
    if (values.size() == features.size()) return;
    throw Error(ErrorCode::invalid_argument,
                format("features has %zu elements, model expects %zu", values.size(), features.size()),
                "btml.summary(model)->'features' lists them in order.");
}

// btml.predict(model, record) → float8
BTML_FUNCTION(btml_predict_record) {
    return predict(load_record(fcinfo));
}

// btml.predict(model, float8[]) → float8
BTML_FUNCTION(btml_predict_array) {
    return predict(load_array(fcinfo));
}

// btml.predict_normal(model, record) → btml.normal
BTML_FUNCTION(btml_predict_normal_record) {
    return predict_normal(fcinfo, load_record(fcinfo));
}

// btml.predict_normal(model, float8[]) → btml.normal
BTML_FUNCTION(btml_predict_normal_array) {
    return predict_normal(fcinfo, load_array(fcinfo));
}

// btml.predict_latent(model, record) → btml.normal
BTML_FUNCTION(btml_predict_latent_record) {
    return predict_latent(fcinfo, load_record(fcinfo));
}

// btml.predict_latent(model, float8[]) → btml.normal
BTML_FUNCTION(btml_predict_latent_array) {
    return predict_latent(fcinfo, load_array(fcinfo));
}

} // namespace btml::pg
