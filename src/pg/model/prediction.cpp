// Predictions for single rows: btml.predict and its kin.
#include "pg/model/prediction.hpp"

#include "pg/values/arguments.hpp"
#include "pg/values/result.hpp"

#include <array>

namespace btml::pg {

namespace {

// Returns the model's trees; the function is what errors name.
boosting::Predictor& trees_of(CachedModel& cached, const char* function) {
    if (cached.model->trees) return *cached.model->trees;
    refuse_without_trees(*cached.model, function);
}

// Returns the trees of a model with one score.
boosting::Predictor& single_score(CachedModel& cached, const char* function, const char* instead) {
    boosting::Predictor& trees = trees_of(cached, function);
    if (!boosting::has_scores_by_label(trees.link())) return trees;
    refuse_several_scores(function, instead);
}

void require_labels(CachedModel& cached, const char* function) {
    if (!cached.model->linear) trees_of(cached, function);
    if (cached.model->labels.empty()) refuse_without_labels(function, "btml.predict predicts it.");
}

// Returns the probabilities of the labels, in their order; of_two: room for those of a linear model.
std::span<const double> probabilities(CachedModel& cached, const char* function, std::array<double, 2>& of_two) {
    require_labels(cached, function);
    if (!cached.model->linear) return cached.model->trees->probabilities(cached.values);
    return of_two = cached.model->linear->probabilities(cached.values);
}

Datum predict(FunctionCallInfo, CachedModel& cached) {
    double value;
    if (cached.model->trees)
        value = single_score(cached, "predict", "Use btml.predict_class or btml.predict_probability.")(cached.values);
    else if (cached.model->linear)
        value = (*cached.model->linear)(cached.values);
    else
        value = cached.gp_predictor("predict").latent(cached.values).mean;
    return Float8GetDatum(value);
}

Datum predict_first(FunctionCallInfo fcinfo, CachedModel& cached) {
    if (!cached.model->trees)
        throw Error(ErrorCode::wrong_type, format("model is %s, which has no first trees", cached.model->kind), "",
                    "Leave out trees.");
    boosting::Predictor& trees = single_score(cached, "predict", "Use btml.predict_class or btml.predict_probability.");
    const int64 first = Arguments(fcinfo).whole_number(2, "trees");
    if (first < 0 || static_cast<uint64_t>(first) > trees.iterations())
        throw Error(ErrorCode::invalid_argument,
                    format("trees must be 0 to %zu, the trees of the model, not %" PRId64, trees.iterations(), first));
    const std::span<const double> scores = trees.scores(cached.values, static_cast<size_t>(first));
    return Float8GetDatum(trees.prediction(scores[0]));
}

Datum predict_score(FunctionCallInfo, CachedModel& cached) {
    if (cached.model->linear) return Float8GetDatum(cached.model->linear->score(cached.values));
    return Float8GetDatum(single_score(cached, "predict_score", "Use btml.predict_scores.").scores(cached.values)[0]);
}

Datum predict_scores(FunctionCallInfo, CachedModel& cached) {
    return number_array(trees_of(cached, "predict_scores").scores(cached.values));
}

Datum predict_leaf(FunctionCallInfo, CachedModel& cached) {
    boosting::Predictor& trees = trees_of(cached, "predict_leaf");
    ArrayType* const array = new_integer_array(trees.trees());
    trees.leaves(cached.values, {reinterpret_cast<int32_t*>(ARR_DATA_PTR(array)), trees.trees()});
    return PointerGetDatum(array);
}

// The first of the likeliest.
Datum predict_class(FunctionCallInfo, CachedModel& cached) {
    require_labels(cached, "predict_class");
    std::array<double, 1> of_linear{};
    if (cached.model->linear) of_linear = {cached.model->linear->score(cached.values)};
    const std::span<const double> scores =
        cached.model->linear ? std::span<const double>(of_linear) : cached.model->trees->scores(cached.values);
    const auto likeliest = cached.model->labels.size() == 2 && scores.size() == 1
                               ? scores[0] > 0
                               : std::max_element(scores.begin(), scores.end()) - scores.begin();
    return text_datum(cached.model->labels[static_cast<size_t>(likeliest)]);
}

Datum predict_probabilities(FunctionCallInfo, CachedModel& cached) {
    std::array<double, 2> of_two;
    return number_array(probabilities(cached, "predict_probabilities", of_two));
}

Datum predict_probability(FunctionCallInfo fcinfo, CachedModel& cached) {
    std::array<double, 2> of_two;
    const std::span<const double> found = probabilities(cached, "predict_probability", of_two);
    const std::string_view label = pg_call([=] { return bytes_of(PG_GETARG_DATUM(2), TEXTOID); });
    return Float8GetDatum(found[cached.code_of_label(label)]);
}

Datum normal_datum(FunctionCallInfo fcinfo, const gp::Normal& normal) {
    return composite(fcinfo, {normal.mean, std::sqrt(normal.variance)});
}

Datum predict_normal(FunctionCallInfo fcinfo, CachedModel& cached) {
    if (cached.model->log_variance) {
        const double sd = deviation_of_trees(cached); // which a calibration comes with
        return normal_datum(fcinfo,
                            {(*cached.model->trees)(cached.values), cached.model->calibration->variance(sd * sd)});
    }
    if (cached.model->trees && boosting::objective_of(cached.model->objective).has_interval())
        throw Error(ErrorCode::wrong_type, "model has no deviation, btml.predict_normal needs one", "",
                    "Train it with deviation => 'learned'. btml.predict_distribution takes any model with a holdout.");
    gp::Predictor& gp = cached.gp_predictor("predict_normal");
    return normal_datum(fcinfo, gp.calibrated(gp.observation(cached.values)));
}

Datum predict_latent(FunctionCallInfo fcinfo, CachedModel& cached) {
    gp::Predictor& gp = cached.gp_predictor("predict_latent");
    return normal_datum(fcinfo, gp.calibrated_latent(gp.latent(cached.values)));
}

} // namespace

CachedModel& load_record(FunctionCallInfo fcinfo, ModelUse use) {
    CachedModel& cached = model_cache(fcinfo, use).load(PG_GETARG_DATUM(0));
    cached.record.read(PG_GETARG_DATUM(1), cached.values);
    return cached;
}

CachedModel& load_array(FunctionCallInfo fcinfo, ModelUse use) {
    CachedModel& cached = model_cache(fcinfo, use).load(PG_GETARG_DATUM(0));
    read_numbers(Arguments(fcinfo).datum(1, "features"), "features", cached.values);
    require_width(cached.values, cached.model->features);
    return cached;
}

Datum composite(FunctionCallInfo fcinfo, std::initializer_list<double> numbers) {
    const TupleDesc columns = model_cache(fcinfo).result_columns(fcinfo);
    constexpr size_t most = 4;
    return pg_call([=] {
        Datum values[most];
        bool nulls[most] = {};
        std::transform(numbers.begin(), numbers.end(), values, [](double x) { return Float8GetDatum(x); });
        return HeapTupleGetDatum(heap_form_tuple(columns, values, nulls));
    });
}

double deviation_of_trees(CachedModel& cached) {
    if (!cached.model->log_variance) return 1;
    const double score = cached.model->log_variance->scores(cached.values)[0];
    return cached.model->deviation_factor * boosting::exponential_of_score(score / 2);
}

void refuse_without_trees(const DecodedModel& model, const char* function) {
    throw Error(ErrorCode::wrong_type, format("model is %s, btml.%s needs boosted trees", model.kind, function), "",
                model.gp ? "A Gaussian process has btml.predict, btml.predict_normal and btml.predict_latent."
                         : "A linear model has btml.predict, btml.explain and btml.coefficients.");
}

void refuse_without_labels(const char* function, const char* instead) {
    throw Error(ErrorCode::wrong_type, format("model has no labels, btml.%s needs them", function),
                "Its target was a number.", instead);
}

void refuse_several_scores(const char* function, const char* instead) {
    throw Error(ErrorCode::wrong_type, format("model has a score for each label, btml.%s needs a single one", function),
                "Its objective is multiclass.", instead);
}

void require_width(const std::vector<double>& values, const std::vector<Feature>& features) {
    if (values.size() == features.size()) return;
    throw Error(ErrorCode::invalid_argument,
                format("features has %zu elements, model expects %zu", values.size(), features.size()),
                "btml.summary(model)->'features' lists them in order.");
}

// btml.feature_names(model) → text[]
BTML_FUNCTION(btml_feature_names) {
    const auto model = decoded_model(PG_GETARG_DATUM(0), ModelUse::predict, std::numeric_limits<uint64_t>::max());
    std::vector<std::string_view> names;
    for (const Feature& feature : model->features) names.emplace_back(feature.name);
    return text_array(names);
}

BTML_PREDICTION(predict)               // → float8
BTML_PREDICTION(predict_first)         // (…, trees integer) → float8, as btml.predict
BTML_PREDICTION(predict_score)         // → float8
BTML_PREDICTION(predict_scores)        // → float8[]
BTML_PREDICTION(predict_leaf)          // → integer[]
BTML_PREDICTION(predict_class)         // → text
BTML_PREDICTION(predict_probabilities) // → float8[]
BTML_PREDICTION(predict_probability)   // (…, label text) → float8
BTML_PREDICTION(predict_normal)        // → btml.normal
BTML_PREDICTION(predict_latent)        // → btml.normal

} // namespace btml::pg
