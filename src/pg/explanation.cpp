// What features add to the scores of boosted trees for a row: btml.explain, btml.shap, btml.shap_interactions.
#include "pg/model/prediction.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/result.hpp"

namespace btml::pg {

using boosting::Explainer;

namespace {

Explainer& explainer_of(CachedModel& cached, const char* function) {
    if (cached.model->explainer) return *cached.model->explainer;
    refuse_without_trees(*cached.model, function);
}

// What is explained: one of the scores, or the negative of the only one, which is that of the first of two labels.
struct ExplainedScore {
    size_t number;
    double sign;

    double operator()(double contribution) const { return sign * contribution + 0; } // never −0
};

// Returns the score of the class that the call names, if any.
ExplainedScore explained_score(const Arguments& arguments, CachedModel& cached, size_t scores, const char* function) {
    if (arguments.count() < 3) {
        if (scores > 1) refuse_several_scores(function, "Name the class as the third argument.");
        return {0, 1};
    }
    if (cached.model->labels.empty()) refuse_without_labels(function, "Leave the class out.");
    const size_t code = cached.code_of_label(arguments.string(2, "class"));
    if (scores > 1) return {code, 1};
    return {0, code == 0 ? -1.0 : 1.0};
}

// How many scores a model has that is explained. Error wrong_type for what has no contributions.
size_t score_count(CachedModel& cached, const char* function) {
    return cached.model->linear ? 1 : explainer_of(cached, function).score_count();
}

// Puts what features add to a score, and the base behind them.
void find_contributions(CachedModel& cached, size_t score, std::span<double> to) {
    if (!cached.model->linear) return cached.model->explainer->contributions(cached.values, score, to);
    cached.model->linear->contributions(cached.values, to.first(to.size() - 1));
    to.back() = cached.model->linear->base();
}

// What a feature of an array is, as text: a category by its name, where the model knows it.
std::optional<std::string> text_of(const Feature& feature, double x) {
    if (is_null(x)) return {};
    if (!feature.categorical) return shortest(x);
    const size_t code = boosting::code_of(x, feature.categories.size());
    return code < feature.categories.size() ? feature.categories[code] : shortest(x);
}

// Rows of the base, then of the features, the largest contributions first.
template <class TextOf>
Datum explain(FunctionCallInfo fcinfo, CachedModel& cached, const TextOf& text) {
    ResultRows rows(fcinfo);
    const ExplainedScore score = explained_score(Arguments(fcinfo), cached, score_count(cached, "explain"), "explain");
    const size_t features = cached.model->features.size();
    std::vector<double> found(features + 1);
    find_contributions(cached, score.number, found);
    rows.add_row("(base)", std::optional<std::string>(), score(found[features]));
    for (const size_t f : largest_first(features, [&](size_t feature) { return std::abs(found[feature]); }))
        rows.add_row(cached.model->features[f].name, text(f), score(found[f]));
    return rows.done();
}

Datum shap(CachedModel& cached) {
    const size_t scores = score_count(cached, "shap"), count = (cached.model->features.size() + 1) * scores;
    ArrayType* const array = new_number_array(count);
    const std::span<double> to(reinterpret_cast<double*>(ARR_DATA_PTR(array)), count);
    if (cached.model->linear)
        find_contributions(cached, 0, to);
    else
        cached.model->explainer->contributions(cached.values, to);
    return PointerGetDatum(array);
}

Datum shap_interactions(FunctionCallInfo fcinfo, CachedModel& cached) {
    static constexpr char function[] = "shap_interactions";
    ResultRows rows(fcinfo);
    Explainer& explainer = explainer_of(cached, function);
    const ExplainedScore score = explained_score(Arguments(fcinfo), cached, explainer.score_count(), function);
    const size_t features = cached.model->features.size();
    BackendContext context(function);
    Buffer<double> pairs(context.memory(), "interactions", features * features);
    explainer.interactions(cached.values, score.number, {pairs.data(), pairs.size()});
    for (size_t f = 0; f < features; f++)
        for (size_t g = 0; g < features; g++) {
            rows.add_row(cached.model->features[f].name, cached.model->features[g].name,
                         score(pairs[f * features + g]));
            context.worked(20);
        }
    return rows.done();
}

} // namespace

// btml.explain(model, input record [, class text]) → table(feature text, value text, contribution float8)
BTML_FUNCTION(btml_explain_record) {
    CachedModel& cached = load_record(fcinfo, ModelUse::explain);
    return explain(fcinfo, cached, [&](size_t f) { return cached.record.text(f); });
}

// btml.explain(model, features float8[] [, class text]) → the same
BTML_FUNCTION(btml_explain_array) {
    CachedModel& cached = load_array(fcinfo, ModelUse::explain);
    return explain(fcinfo, cached, [&](size_t f) { return text_of(cached.model->features[f], cached.values[f]); });
}

// btml.shap(model, input record) → float8[]
BTML_FUNCTION(btml_shap_record) {
    return shap(load_record(fcinfo, ModelUse::explain));
}

// btml.shap(model, features float8[]) → float8[]
BTML_FUNCTION(btml_shap_array) {
    return shap(load_array(fcinfo, ModelUse::explain));
}

// btml.shap_interactions(model, input record [, class text]) → table(feature text, other text, contribution float8)
BTML_FUNCTION(btml_shap_interactions_record) {
    return shap_interactions(fcinfo, load_record(fcinfo, ModelUse::explain));
}

// btml.shap_interactions(model, features float8[] [, class text]) → the same
BTML_FUNCTION(btml_shap_interactions_array) {
    return shap_interactions(fcinfo, load_array(fcinfo, ModelUse::explain));
}

} // namespace btml::pg
