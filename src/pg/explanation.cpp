// What features add to the scores of boosted trees: btml.explain, btml.shap and their kin.
#include "core/boosting/explanations/importance.hpp"
#include "pg/bridge/arguments.hpp"
#include "pg/bridge/result.hpp"
#include "pg/options.hpp"
#include "pg/prediction.hpp"
#include "pg/query_points.hpp"

namespace btml::pg {

using boosting::Explainer;

namespace {

Explainer& explainer_of(CachedModel& cached, const char* function) {
    if (auto* const trees = std::get_if<std::unique_ptr<Explainer>>(&cached.predictor)) return **trees;
    refuse_gaussian_process(function);
}

// What is explained: one of the scores, or the negative of the only one, which is that of the first of two labels.
struct ExplainedScore {
    size_t number;
    double sign;
};

// Of the class that the call names, if any.
ExplainedScore explained_score(const Arguments& arguments, CachedModel& cached, size_t scores, const char* function) {
    if (arguments.count() < 3) {
        if (scores > 1) refuse_several_scores(function, "Name the class as the third argument.");
        return {0, 1};
    }
    if (cached.labels.empty()) refuse_without_labels(function, "Leave the class out.");
    const size_t code = cached.code_of_label(arguments.string(2, "class"));
    if (scores > 1) return {code, 1};
    return {0, code == 0 ? -1.0 : 1.0};
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
    Explainer& explainer = explainer_of(cached, "explain");
    const auto [score, sign] = explained_score(Arguments(fcinfo), cached, explainer.score_count(), "explain");
    const size_t features = cached.features.size();
    std::vector<double> found(features + 1);
    explainer.contributions(cached.values, score, found);
    std::vector<size_t> order(features);
    for (size_t f = 0; f < features; f++) order[f] = f;
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return std::abs(found[a]) > std::abs(found[b]); });
    rows.add_row("(base)", std::optional<std::string>(), sign * found[features]);
    for (const size_t f : order) rows.add_row(cached.features[f].name, text(f), sign * found[f]);
    return rows.done();
}

Datum shap(CachedModel& cached) {
    Explainer& explainer = explainer_of(cached, "shap");
    const size_t count = (cached.features.size() + 1) * explainer.score_count();
    ArrayType* const array = new_number_array(count);
    explainer.contributions(cached.values, {reinterpret_cast<double*>(ARR_DATA_PTR(array)), count});
    return PointerGetDatum(array);
}

Datum shap_interactions(FunctionCallInfo fcinfo, CachedModel& cached) {
    static constexpr char function[] = "shap_interactions";
    ResultRows rows(fcinfo);
    Explainer& explainer = explainer_of(cached, function);
    const auto [score, sign] = explained_score(Arguments(fcinfo), cached, explainer.score_count(), function);
    const size_t features = cached.features.size();
    BackendContext context(function);
    Buffer<double> pairs(context.memory(), "interactions", features * features);
    explainer.interactions(cached.values, score, {pairs.data(), pairs.size()});
    for (size_t f = 0; f < features; f++)
        for (size_t g = 0; g < features; g++) {
            rows.add_row(cached.features[f].name, cached.features[g].name, sign * pairs[f * features + g]);
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
    return explain(fcinfo, cached, [&](size_t f) { return text_of(cached.features[f], cached.values[f]); });
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

// btml.shap_importance(model, source text, sample_rows int, seed bigint) → table(feature text, mean_absolute float8,
// std_error float8), most important first
BTML_FUNCTION(btml_shap_importance) {
    const NamedArguments arguments(fcinfo);
    ResultRows rows(fcinfo);
    if (arguments.is_null("model")) return rows.done();
    const std::string source = arguments.string("source");
    boosting::ExplainedSample sample;
    read_options(arguments, boosting::explained_sample_table, sample);
    BackendContext context("shap_importance");
    StoredModel stored = read_model(arguments.datum("model"), context);
    const boosting::Model& model = boosted_trees(
        stored, "shap_importance", "btml.gp_relevance tells what each feature adds to a Gaussian process.");
    const QueryPoints points(source, model.features, context,
                             PointSample{static_cast<uint64_t>(sample.rows), sample.seed});
    if (points.rows() == 0) throw Error(ErrorCode::invalid_argument, "source has no rows to explain", "It is empty.");
    Explainer explainer(model, context);
    const std::vector<boosting::ContributionSize> sizes =
        contribution_sizes(explainer, points.values(), points.source_rows(), context);
    std::vector<size_t> order(sizes.size());
    for (size_t f = 0; f < order.size(); f++) order[f] = f;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sizes[a].mean > sizes[b].mean; });
    for (const size_t f : order) rows.add_row(model.features[f].name, sizes[f].mean, sizes[f].std_error);
    return rows.done();
}

} // namespace btml::pg
