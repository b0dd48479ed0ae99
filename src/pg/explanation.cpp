// What models make of features: btml.explain, btml.shap and their kin, btml.partial_dependence,
// btml.permutation_importance.
#include "core/boosting/explanations/importance.hpp"
#include "core/explanation/options.hpp"
#include "core/explanation/partial_dependence.hpp"
#include "core/explanation/permutation.hpp"
#include "pg/bridge/arguments.hpp"
#include "pg/bridge/result.hpp"
#include "pg/options.hpp"
#include "pg/prediction.hpp"
#include "pg/query_points.hpp"

#include <map>

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

// Error invalid_argument for a source without rows.
QueryPoints sample_points(const std::string& source, const std::vector<Feature>& features,
                          const explanation::SampleOptions& sample, PointRequest request, RunContext& context) {
    request.sample = PointSample{static_cast<uint64_t>(sample.rows), sample.seed};
    QueryPoints points(source, features, request, context);
    if (points.rows() == 0)
        throw Error(ErrorCode::invalid_argument, "source has no rows to explain",
                    request.is_given ? "Rows without a target, and those not held out, do not count." : "It is empty.");
    return points;
}

// Predicts as btml.predict does, or the probability of a class.
class PointPredictor {
  public:
    // The model must outlive it.
    PointPredictor(StoredModel& stored, const std::optional<std::string>& label, const char* function,
                   RunContext& context) {
        if (auto* const model = std::get_if<boosting::Model>(&stored.model)) {
            if (label && model->labels.empty()) refuse_without_labels(function, "Leave the class out.");
            if (label) label_ = code_of_label(model->labels, *label);
            trees_.emplace(*model, context);
            if (!label && trees_->score_count() > 1) refuse_several_scores(function, "Name a class.");
            units_ = 1 + 2 * model->trees.size();
        } else {
            if (label) refuse_without_labels(function, "Leave the class out.");
            process_.emplace(std::get<gp::Model>(stored.model));
            units_ = 1000;
        }
    }

    double operator()(std::span<const double> point) {
        if (process_) return process_->latent(point).mean;
        return label_ ? trees_->probabilities(point)[*label_] : (*trees_)(point);
    }
    uint64_t units() const { return units_; } // of work, as RunContext counts it

  private:
    std::optional<boosting::Predictor> trees_;
    std::optional<gp::Predictor> process_;
    std::optional<size_t> label_;
    uint64_t units_;
};

// Error invalid_argument with the nearest name.
size_t place_of_feature(const std::vector<Feature>& features, const std::string& name) {
    std::vector<std::string> names;
    for (const Feature& feature : features) names.push_back(feature.name);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<size_t>(found - names.begin());
    const std::string nearest = nearest_name(name, names);
    throw Error(ErrorCode::invalid_argument, format("model has no feature \"%s\"", name.c_str()),
                "Its features are " + quoted_list(names) + ".",
                nearest.empty() ? "" : "Perhaps you meant \"" + nearest + "\".");
}

// Rows with the same text, in the order of the texts, those of NULL last; all rows without texts.
std::vector<std::vector<size_t>> groups_of(const QueryPoints& points, const PointTexts* texts) {
    std::map<uint32_t, std::vector<size_t>> groups;
    for (size_t row = 0; row < points.rows(); row++) groups[texts ? texts->code(row) : 0].push_back(row);
    std::vector<std::vector<size_t>> found;
    for (auto& [code, rows] : groups) found.push_back(std::move(rows));
    return found;
}

// The dependence over some rows, where the feature has the value that it has in another.
explanation::Dependence dependence_on(size_t feature, size_t value_row, const std::vector<size_t>& rows,
                                      const QueryPoints& points, PointPredictor& predict, RunContext& context) {
    std::vector<double> predictions, point;
    for (const size_t row : rows) {
        const std::span<const double> values = points.values(row);
        point.assign(values.begin(), values.end());
        point[feature] = points.values(value_row)[feature];
        predictions.push_back(predict(point));
        context.worked(predict.units());
    }
    const double left_out = 1 - static_cast<double>(points.rows()) / static_cast<double>(points.source_rows());
    return explanation::summarise(predictions, left_out, context);
}

// The numbers of the targets: codes of labels, where the model has any. Error invalid_argument for another label.
std::vector<double> targets_of(const QueryPoints& points, const std::vector<std::string>& labels) {
    std::vector<double> targets;
    for (uint64_t row = 0; row < points.rows(); row++)
        targets.push_back(labels.empty() ? points.number(row)
                                         : static_cast<double>(code_of_label(labels, *points.texts(0)[row])));
    return targets;
}

// Compares predictions with targets as training does.
explanation::PointScorer make_scorer(StoredModel& stored, const std::vector<double>& targets, RunContext& context) {
    const auto* const model = std::get_if<boosting::Model>(&stored.model);
    if (!model || model->scores() == 1) {
        auto predict = std::make_shared<PointPredictor>(stored, std::nullopt, "permutation_importance", context);
        return [predict, &targets, &context](std::span<const double> point, size_t row) {
            const double target = targets[row], prediction = (*predict)(point);
            context.worked(predict->units());
            return boosting::HeldOutRow{target, prediction, 1, (prediction > 0.5) == (target > 0.5)};
        };
    }
    auto trees = std::make_shared<boosting::Predictor>(*model, context);
    return [trees, &targets, &context](std::span<const double> point, size_t row) {
        const std::span<const double> found = trees->probabilities(point);
        const auto label = static_cast<size_t>(targets[row]);
        context.worked(1 + 2 * trees->trees());
        const auto likeliest = std::max_element(found.begin(), found.end()) - found.begin();
        return boosting::HeldOutRow{1, found[label], 1, static_cast<size_t>(likeliest) == label};
    };
}

// Errors not_supported, invalid_argument.
boosting::HoldoutMetric metric_for(const boosting::Model* model, const std::optional<boosting::HoldoutMetric>& given) {
    const boosting::ObjectiveNumber objective = model ? model->options.objective : boosting::ObjectiveNumber::squared;
    const std::optional<boosting::HoldoutMetric> usual = boosting::usual_metric(objective);
    if (!usual)
        throw Error(ErrorCode::not_supported, "btml.permutation_importance is not for objective 'rank'",
                    "Its metric compares the rows of a query, and permuted rows have none.",
                    "btml.shap_importance is for every objective.");
    if (given) check_metric(*given, objective);
    return given.value_or(*usual);
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
    explanation::SampleOptions sample;
    read_options(arguments, explanation::sample_options_table, sample);
    BackendContext context("shap_importance");
    StoredModel stored = read_model(arguments.datum("model"), context);
    const boosting::Model& model = boosted_trees(
        stored, "shap_importance", "btml.gp_relevance tells what each feature adds to a Gaussian process.");
    const QueryPoints points = sample_points(source, model.features, sample, {}, context);
    Explainer explainer(model, context);
    const std::vector<boosting::ContributionSize> sizes =
        contribution_sizes(explainer, points.values(), points.source_rows(), context);
    std::vector<size_t> order(sizes.size());
    for (size_t f = 0; f < order.size(); f++) order[f] = f;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sizes[a].mean > sizes[b].mean; });
    for (const size_t f : order) rows.add_row(model.features[f].name, sizes[f].mean, sizes[f].std_error);
    return rows.done();
}

// btml.partial_dependence(model, source text, feature name, points int, by name, sample_rows int, seed bigint, class
// text) → table(value text, number float8, by_value text, mean float8, std_error float8, p10 float8, p90 float8)
BTML_FUNCTION(btml_partial_dependence) {
    static constexpr char function[] = "partial_dependence";
    const NamedArguments arguments(fcinfo);
    ResultRows result(fcinfo);
    if (arguments.is_null("model")) return result.done();
    const std::string source = arguments.string("source"), name = arguments.column("feature");
    explanation::DependenceOptions options;
    read_options(arguments, explanation::dependence_options_table, options);
    std::vector<std::string> columns{name};
    if (!arguments.is_null("by")) columns.push_back(arguments.column("by"));
    BackendContext context(function);
    StoredModel stored = read_model(arguments.datum("model"), context);
    const std::vector<Feature>& features = features_of(stored);
    const size_t feature = place_of_feature(features, name);
    std::optional<std::string> label;
    if (!arguments.is_null("class")) label = arguments.string("class");
    PointPredictor predict(stored, label, function, context);
    const QueryPoints points = sample_points(source, features, options.sample, {.texts = columns}, context);
    std::vector<double> values;
    for (size_t row = 0; row < points.rows(); row++) values.push_back(points.values(row)[feature]);
    const bool categorical = features[feature].categorical;
    const std::vector<size_t> grid =
        explanation::grid_rows(values, categorical, static_cast<size_t>(options.points), context);
    const PointTexts* const by = columns.size() > 1 ? &points.texts(1) : nullptr;
    const std::vector<std::vector<size_t>> groups = groups_of(points, by);
    uint64_t done = 0;
    for (const std::vector<size_t>& rows : groups)
        for (const size_t at : grid) {
            context.progress("predicting", done++, groups.size() * grid.size());
            const auto [mean, std_error, p10, p90] = dependence_on(feature, at, rows, points, predict, context);
            result.add_row(points.texts(0)[at], null_if(categorical || is_null(values[at]), values[at]),
                           by ? (*by)[rows.front()] : std::nullopt, mean, std_error, p10, p90);
        }
    return result.done();
}

// btml.permutation_importance(model, source text, target name, metric text, repeats int, seed bigint, holdout name,
// sample_rows int) → table(feature text, importance float8, std_error float8), most important first
BTML_FUNCTION(btml_permutation_importance) {
    const NamedArguments arguments(fcinfo);
    ResultRows result(fcinfo);
    if (arguments.is_null("model")) return result.done();
    const std::string source = arguments.string("source"), target = arguments.column("target");
    explanation::PermutationOptions options;
    read_options(arguments, explanation::permutation_options_table, options);
    BackendContext context("permutation_importance");
    StoredModel stored = read_model(arguments.datum("model"), context);
    const auto* const trees = std::get_if<boosting::Model>(&stored.model);
    const boosting::HoldoutMetric metric = metric_for(trees, options.metric);
    static const std::vector<std::string> none;
    const std::vector<std::string>& labels = trees ? trees->labels : none;
    PointRequest request{.holdout = arguments.optional_column("holdout"), .is_given = true};
    if (labels.empty())
        request.number = target;
    else
        request.texts = {target};
    const std::vector<Feature>& features = features_of(stored);
    const QueryPoints points = sample_points(source, features, options.sample, request, context);
    const std::vector<double> targets = targets_of(points, labels);
    const double alpha = trees ? trees->options.alpha.value_or(0.5) : 0;
    const explanation::PermutationTask task{points.values(), features.size(), metric,
                                            alpha,           options.repeats, options.sample.seed};
    const std::vector<explanation::PermutedImportance> found =
        explanation::permutation_importance(task, make_scorer(stored, targets, context), context);
    std::vector<size_t> order(found.size());
    for (size_t f = 0; f < order.size(); f++) order[f] = f;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return found[a].mean > found[b].mean; });
    for (const size_t f : order) result.add_row(features[f].name, found[f].mean, found[f].std_error);
    return result.done();
}

} // namespace btml::pg
