// What models make of features over rows of a source: btml.shap_importance, btml.partial_dependence,
// btml.permutation_importance.
#include "core/boosting/explanations/importance.hpp"
#include "core/explanation/explanation_options.hpp"
#include "core/explanation/feature_effects.hpp"
#include "core/linear/linear_predictor.hpp"
#include "pg/model/prediction.hpp"
#include "pg/source/query_points.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/named_options.hpp"
#include "pg/values/result.hpp"

#include <span>

namespace btml::pg {

namespace {

// Error invalid_argument for a source without rows.
QueryPoints sample_points(const GivenSource& source, const std::vector<Feature>& features,
                          const explanation::SampleOptions& sample, PointRequest request, RunContext& context) {
    request.sample = sample;
    QueryPoints points(source, features, request, context);
    if (points.rows() == 0)
        throw Error(ErrorCode::invalid_argument, "source has no rows to explain",
                    request.is_given ? "Rows without a target, and those not held out, do not count." : "It is empty.");
    return points;
}

// Error out_of_range for a number in a row that a linear model makes no finite prediction of: others have no mean.
void check_numbers(const StoredModel& stored, const QueryPoints& points, RunContext& context) {
    const auto* const model = std::get_if<linear::Model>(&stored.model);
    if (!model) return;
    const linear::Predictor predictor(*model);
    for (size_t f = 0; f < model->features.size(); f++) {
        if (!predictor.takes_number(f)) continue;
        const std::string what = "feature \"" + model->features[f].name + '"';
        context.for_each(points.rows(), 1, [&](uint64_t row) {
            const double number = points.values(row)[f];
            if (!is_null(number)) check_finite(number, what.c_str());
        });
    }
}

// Returns the labels of the target; none of numbers.
const std::vector<std::string>& labels_of(const StoredModel& stored) {
    static const std::vector<std::string> none;
    if (const auto* const trees = std::get_if<boosting::Model>(&stored.model)) return trees->labels;
    if (const auto* const model = std::get_if<linear::Model>(&stored.model)) return model->labels;
    return none;
}

// Predicts as btml.predict does, or the probability of a class.
class PointPredictor {
  public:
    // The model must outlive it.
    PointPredictor(StoredModel& stored, const std::optional<std::string>& label, const char* function,
                   RunContext& context) {
        const std::vector<std::string>& labels = labels_of(stored);
        if (label && labels.empty()) refuse_without_labels(function, "Leave the class out.");
        if (label) label_ = code_of_label(labels, *label);
        if (auto* const model = std::get_if<boosting::Model>(&stored.model)) {
            trees_.emplace(*model, context);
            if (!label && trees_->score_count() > 1) refuse_several_scores(function, "Name a class.");
            units_ = 1 + 2 * model->trees.size();
        } else if (auto* const process = std::get_if<gp::Model>(&stored.model)) {
            gp_.emplace(*process);
            units_ = 1000;
        } else {
            linear_.emplace(std::get<linear::Model>(stored.model));
            units_ = 1 + features_of(stored).size();
        }
    }

    double operator()(std::span<const double> point) {
        if (gp_) return gp_->latent(point).mean;
        if (linear_) return label_ ? linear_->probabilities(point)[*label_] : (*linear_)(point);
        return label_ ? trees_->probabilities(point)[*label_] : (*trees_)(point);
    }
    uint64_t units() const { return units_; } // of work, as RunContext counts it

  private:
    std::optional<boosting::Predictor> trees_;
    std::optional<gp::Predictor> gp_;
    std::optional<linear::Predictor> linear_;
    std::optional<size_t> label_;
    uint64_t units_;
};

// Returns the rows in the order of their texts, those of NULL last; in their own without texts.
Buffer<size_t> rows_by_text(const QueryPoints& points, const PointTexts* texts, RunContext& context) {
    Buffer<size_t> rows(context.memory(), "rows to predict", points.rows());
    context.for_each(rows.size(), 1, [&](uint64_t row) { rows[row] = row; });
    if (!texts) return rows;
    std::sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
        context.worked(1);
        return std::pair(texts->code(a), a) < std::pair(texts->code(b), b);
    });
    return rows;
}

// Returns the first of the rows, which are all that have the same text.
std::span<const size_t> first_group(std::span<const size_t> rows, const PointTexts* texts, RunContext& context) {
    if (!texts) return rows;
    size_t end = 1;
    for (; end < rows.size() && texts->code(rows[end]) == texts->code(rows[0]); end++) context.worked(1);
    return rows.first(end);
}

// Returns the dependence over some rows, where the feature has the value that it has in another.
explanation::Dependence dependence_on(size_t feature, size_t value_row, std::span<const size_t> rows,
                                      const QueryPoints& points, PointPredictor& predict, RunContext& context) {
    std::vector<double> predictions, point;
    predictions.reserve(rows.size());
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
Buffer<double> targets_of(const QueryPoints& points, const std::vector<std::string>& labels, RunContext& context) {
    Buffer<double> targets(context.memory(), "targets");
    targets.reserve(points.rows());
    context.for_each(points.rows(), 1 + labels.size(), [&](uint64_t row) {
        targets.push_back(labels.empty() ? points.number(row)
                                         : static_cast<double>(code_of_label(labels, *points.texts(0)[row])));
    });
    return targets;
}

// Compares predictions with targets as training does.
explanation::PointScorer make_scorer(StoredModel& stored, const Buffer<double>& targets, RunContext& context) {
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
boosting::HoldoutMetric metric_for(const StoredModel& stored, const std::optional<boosting::HoldoutMetric>& given) {
    const auto* const trees = std::get_if<boosting::Model>(&stored.model);
    const bool has_labels = !labels_of(stored).empty();
    const boosting::ObjectiveNumber objective = trees        ? trees->options.objective
                                                : has_labels ? boosting::ObjectiveNumber::binary
                                                             : boosting::ObjectiveNumber::squared;
    const char* const called = trees ? "" : has_labels ? "targets of labels" : "targets that are numbers";
    const std::optional<boosting::HoldoutMetric> usual = boosting::usual_metric(objective);
    if (!usual)
        throw Error(ErrorCode::not_supported, "btml.permutation_importance is not for objective 'rank'",
                    "Its metric compares the rows of a query, and permuted rows have none.",
                    "btml.shap_importance is for every objective.");
    if (given) check_metric(*given, objective, called);
    return given.value_or(*usual);
}

} // namespace

// btml.shap_importance(model, source text, sample_rows numeric, seed numeric, elements boolean) → table(feature text,
// mean_absolute float8, std_error float8), most important first
BTML_FUNCTION(btml_shap_importance) {
    const NamedArguments arguments(fcinfo);
    ResultRows rows(fcinfo);
    if (arguments.is_null("model")) return rows.done();
    const GivenSource source = given_source(arguments);
    explanation::ImportanceOptions options;
    read_options(arguments, explanation::importance_options_table, options);
    BackendContext context("shap_importance");
    StoredModel stored = read_model(arguments.datum("model"), context);
    const boosting::Model& model =
        boosted_trees(stored, "shap_importance", "btml.permutation_importance is for any model.");
    const QueryPoints points = sample_points(source, model.features, options.sample, {}, context);
    boosting::Explainer explainer(model, context);
    const std::vector<FeatureGroup> groups = grouped(model.features, options.elements);
    const std::vector<boosting::ContributionSize> sizes =
        contribution_sizes(explainer, groups, points.values(), points.source_rows(), context);
    for (const size_t g : largest_first(sizes.size(), [&](size_t group) { return sizes[group].mean; }))
        rows.add_row(groups[g].name, sizes[g].mean, sizes[g].std_error);
    return rows.done();
}

// btml.partial_dependence(model, source text, feature name, points numeric, by name, sample_rows numeric, seed numeric,
// class text) → table(value text, number float8, by_value text, mean float8, std_error float8, p10 float8, p90 float8)
BTML_FUNCTION(btml_partial_dependence) {
    static constexpr char function[] = "partial_dependence";
    const NamedArguments arguments(fcinfo);
    ResultRows result(fcinfo);
    if (arguments.is_null("model")) return result.done();
    const GivenSource source = given_source(arguments);
    const std::string name = arguments.column("feature");
    explanation::DependenceOptions options;
    read_options(arguments, explanation::dependence_options_table, options);
    PointRequest request;
    if (!arguments.is_null("by")) request.texts.push_back(arguments.column("by"));
    BackendContext context(function);
    StoredModel stored = read_model(arguments.datum("model"), context);
    const std::vector<Feature>& features = features_of(stored);
    const size_t feature = place_of_feature(features, name);
    std::optional<std::string> label;
    if (!arguments.is_null("class")) label = arguments.string("class");
    PointPredictor predict(stored, label, function, context);
    request.printed = feature;
    const QueryPoints points = sample_points(source, features, options.sample, request, context);
    check_numbers(stored, points, context);
    const Reservation held(context.memory(), "rows to predict",
                           points.rows() * 2 * (sizeof(double) + sizeof(size_t))); // of the grid, and of a group
    std::vector<double> values(points.rows());
    context.for_each(points.rows(), 1, [&](uint64_t row) { values[row] = points.printed_value(row); });
    const bool categorical = features[feature].categorical;
    const std::vector<size_t> grid =
        explanation::grid_rows(values, categorical, static_cast<size_t>(options.points), context);
    std::vector<std::optional<std::string>> texts; // of the grid
    for (const size_t at : grid) texts.push_back(points.printed(at));
    const PointTexts* const by = request.texts.empty() ? nullptr : &points.texts(0);
    const Buffer<size_t> order = rows_by_text(points, by, context);
    uint64_t done = 0;
    for (std::span<const size_t> rest = order.span(), rows; !rest.empty(); rest = rest.subspan(rows.size())) {
        rows = first_group(rest, by, context);
        for (size_t i = 0; i < grid.size(); i++) {
            const size_t at = grid[i];
            context.share_progress("predicting", done, order.size() * grid.size());
            done += rows.size();
            const auto [mean, std_error, p10, p90] = dependence_on(feature, at, rows, points, predict, context);
            result.add_row(texts[i], null_if(categorical || is_null(values[at]), values[at]),
                           by ? (*by)[rows.front()] : std::nullopt, mean, std_error, p10, p90);
        }
    }
    return result.done();
}

// btml.permutation_importance(model, source text, target name, metric text, repeats numeric, seed numeric, holdout
// name, sample_rows int, elements boolean) → table(feature text, importance float8, std_error float8), most important
// first
BTML_FUNCTION(btml_permutation_importance) {
    const NamedArguments arguments(fcinfo);
    ResultRows result(fcinfo);
    if (arguments.is_null("model")) return result.done();
    const GivenSource source = given_source(arguments);
    const std::string target = arguments.column("target");
    explanation::PermutationOptions options;
    read_options(arguments, explanation::permutation_options_table, options);
    BackendContext context("permutation_importance");
    StoredModel stored = read_model(arguments.datum("model"), context);
    const auto* const trees = std::get_if<boosting::Model>(&stored.model);
    const boosting::HoldoutMetric metric = metric_for(stored, options.metric);
    const std::vector<std::string>& labels = labels_of(stored);
    PointRequest request{.holdout = arguments.optional_column("holdout"), .is_given = true};
    if (labels.empty())
        request.number = target;
    else
        request.texts = {target};
    const std::vector<Feature>& features = features_of(stored);
    const QueryPoints points = sample_points(source, features, options.sample, request, context);
    check_numbers(stored, points, context);
    const Buffer<double> targets = targets_of(points, labels, context);
    const double alpha = trees ? trees->options.alpha.value_or(0.5) : 0;
    const std::vector<FeatureGroup> groups = grouped(features, options.elements);
    const explanation::PermutationTask task{points.values(), features.size(),    groups, metric, alpha,
                                            options.repeats, options.sample.seed};
    const std::vector<SampleMean> found =
        explanation::permutation_importance(task, make_scorer(stored, targets, context), context);
    for (const size_t g : largest_first(found.size(), [&](size_t group) { return found[group].mean(); }))
        result.add_row(groups[g].name, found[g].mean(), found[g].std_error());
    return result.done();
}

} // namespace btml::pg
