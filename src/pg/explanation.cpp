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
    if (arguments.count() < 4) { // model, row, elements
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

// What the features of a group are, as text: elements of a column as its array.
std::optional<std::string> text_of(const FeatureGroup& group, const CachedModel& cached) {
    const std::vector<Feature>& features = cached.model->features;
    if (group.count == 1 && features[group.first].element == 0)
        return text_of(features[group.first], cached.values[group.first]);
    std::string text;
    for (size_t f = group.first; f < group.first + group.count; f++)
        text += (text.empty() ? "{" : ",") + text_of(features[f], cached.values[f]).value_or("NULL");
    return text + '}';
}

// The last argument of the call says whether elements are told apart.
bool tells_elements(const Arguments& arguments) {
    return arguments.boolean(arguments.count() - 1, "elements");
}

// Rows of the base, then of the columns, or of the features where elements are told apart, the largest contributions
// first. text: of a column.
template <class TextOf>
Datum explain(FunctionCallInfo fcinfo, CachedModel& cached, const TextOf& text) {
    ResultRows rows(fcinfo);
    const Arguments arguments(fcinfo);
    const ExplainedScore score = explained_score(arguments, cached, score_count(cached, "explain"), "explain");
    const std::vector<Feature>& features = cached.model->features;
    const bool elements = tells_elements(arguments);
    std::vector<double> found(features.size() + 1), totals;
    find_contributions(cached, score.number, found);
    const std::vector<FeatureGroup> groups = grouped(features, elements);
    for (const FeatureGroup& group : groups) totals.push_back(total_of(group, found));
    rows.add_row("(base)", std::optional<std::string>(), score(found.back()));
    for (const size_t g : largest_first(groups.size(), [&](size_t group) { return std::abs(totals[group]); })) {
        const size_t first = groups[g].first;
        const bool is_element = elements && features[first].element > 0;
        rows.add_row(groups[g].name, is_element ? text_of(features[first], cached.values[first]) : text(groups[g]),
                     score(totals[g]));
    }
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
    const Arguments arguments(fcinfo);
    const ExplainedScore score = explained_score(arguments, cached, explainer.score_count(), function);
    const size_t features = cached.model->features.size();
    BackendContext context(function);
    Buffer<double> pairs(context.memory(), "interactions", features * features);
    explainer.interactions(cached.values, score.number, {pairs.data(), pairs.size()});
    const std::vector<FeatureGroup> groups = grouped(cached.model->features, tells_elements(arguments));
    for (const FeatureGroup& one : groups)
        for (const FeatureGroup& other : groups) {
            double total = total_of(other, pairs.span().subspan(one.first * features, features));
            for (size_t f = one.first + 1; f < one.first + one.count; f++)
                total += total_of(other, pairs.span().subspan(f * features, features));
            rows.add_row(one.name, other.name, score(total));
            context.worked(20 + one.count * other.count);
        }
    return rows.done();
}

} // namespace

// btml.explain(model, input record [, class text], elements boolean) → table(feature text, value text, contribution
// float8)
BTML_FUNCTION(btml_explain_record) {
    CachedModel& cached = load_record(fcinfo, ModelUse::explain);
    return explain(fcinfo, cached, [&](const FeatureGroup& group) { return cached.record.text(group.first); });
}

// btml.explain(model, features float8[] [, class text], elements boolean) → the same
BTML_FUNCTION(btml_explain_array) {
    CachedModel& cached = load_array(fcinfo, ModelUse::explain);
    return explain(fcinfo, cached, [&](const FeatureGroup& group) { return text_of(group, cached); });
}

// btml.shap(model, input record) → float8[]
BTML_FUNCTION(btml_shap_record) {
    return shap(load_record(fcinfo, ModelUse::explain));
}

// btml.shap(model, features float8[]) → float8[]
BTML_FUNCTION(btml_shap_array) {
    return shap(load_array(fcinfo, ModelUse::explain));
}

// btml.shap_interactions(model, input record [, class text], elements boolean) → table(feature text, other text,
// contribution float8)
BTML_FUNCTION(btml_shap_interactions_record) {
    return shap_interactions(fcinfo, load_record(fcinfo, ModelUse::explain));
}

// btml.shap_interactions(model, features float8[] [, class text], elements boolean) → the same
BTML_FUNCTION(btml_shap_interactions_array) {
    return shap_interactions(fcinfo, load_array(fcinfo, ModelUse::explain));
}

} // namespace btml::pg
