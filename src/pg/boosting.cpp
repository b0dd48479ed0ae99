// SQL functions of boosted trees: btml.boost_fit, btml.tree_fit, btml.boost_fit_agg, and what looks into a model.
#include "core/boosting/booster.hpp"
#include "core/boosting/trees/to_sql.hpp"
#include "core/data/dataset.hpp"
#include "core/linear/linear_sql.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/call_site.hpp"
#include "pg/distributed/distributed_coordinator.hpp"
#include "pg/model/model_value.hpp"
#include "pg/source/aggregated_rows.hpp"
#include "pg/source/boosting_source.hpp"
#include "pg/values/result.hpp"

namespace btml::pg {

using namespace boosting;

namespace {

// Names the way out before it sketches for more than a minute.
void warn_of_long_sketches(const relational::Join& join, const Options& options, RunContext& context) {
    constexpr double long_seconds = 60;
    const double seconds = sketching_seconds(join, options, context);
    if (seconds <= long_seconds) return;
    notice(format("sketches of the residuals over this join will take about %.0f minutes", std::ceil(seconds / 60)), "",
           format("Cancel and give a %ssketch_size; the time is proportional to it.",
                  options.sketch_size > 0 ? "smaller " : ""));
}

// Tells those who asked to verify how large the error was.
void report_sketch_error(const Model& model) {
    if (!model.options.verify) return;
    std::string text = "no sum of squared residuals was estimated: they were all exact";
    if (model.sketch) {
        text = format("the largest relative error of the sum of squared residuals at the root of a tree is %.3f",
                      model.sketch->error.value_or(0));
        if (model.options.sketch_size == 0)
            text += format("; promised is %.3g with probability %.3g for each tree", model.options.epsilon,
                           1 - model.options.delta);
    }
    const char* const message = text.c_str();
    pg_call([=] { ereport(INFO, (errmsg("%s", message))); });
}

// Trees that cannot be split at all are rarely what was wanted.
void notice_too_few_rows(const Model& model) {
    const double least = model.options.min_leaf_rows;
    if (model.trees.empty() || model.trees[0][0].rows >= 2 * least) return;
    const std::string rows = shortest(model.trees[0][0].rows), both = shortest(2 * least);
    notice("no tree has a split: the rows are " + rows + ", two leaves need " + both, "", "Lower min_leaf_rows.");
}

// A holdout that holds nothing out is rarely what was wanted.
void notice_empty_holdout(const Model& model, const BoostRequest& request) {
    if (request.holdout && model.holdout_rows == 0)
        notice("holdout \"" + *request.holdout + "\" is true for no row", "",
               "There is no holdout loss, and every row is trained on.");
}

void notice_worse_than_constant(const Model& model) {
    if (!is_worse_than_constant(model)) return;
    notice(
        "the fit is worse than a constant on held-out rows",
        format("Its loss is %.4g, that of the training rows' best constant %.4g.",
               *model.log[model.iterations() - 1].holdout_loss, *model.baseline->holdout_loss),
        "Rows may be too few or too noisy for so many trees, or those held out of another kind; early_stopping keeps "
        "fewer trees.");
}

BoostRequest read_request(FunctionCallInfo fcinfo, const Options& defaults) {
    const NamedArguments call(fcinfo);
    const FitArguments arguments(call);
    arguments.check_names(options_table);
    BoostRequest request = read_boost_request(arguments, defaults);
    set_holdout_fraction(request, request.options.holdout_fraction, request.options.seed);
    if (request.options.early_stopping > 0 && !request.holds_out())
        throw Error(ErrorCode::invalid_argument, "early_stopping needs a holdout", "",
                    "Name a boolean column in holdout, or give a holdout_fraction.");
    if (request.options.learn_deviation && request.start)
        throw Error(ErrorCode::invalid_argument, "deviation => 'learned' is not valid with start",
                    "The trees of start have seen the rows that would tell how far off they are.");
    return request;
}

// Where memory does not suffice, the error names the strategy that needs as much as there is.
template <class Fit>
FitResult with_way_out(const StrategyChoice& choice, const Fit& fit) {
    try {
        return fit();
    } catch (const Error& error) {
        if (error.code() != ErrorCode::memory_limit || choice.strategy == Strategy::sample) throw;
        throw Error(error.code(), error.message(), error.detail(),
                    "Raise btml.memory_limit, read fewer rows or columns, or train on a sample of the join's rows with "
                    "strategy => 'sample'.");
    }
}

// options: of the request but for the strategy; gets the objective that the target takes.
std::pair<TrainingJoin, StrategyChoice> read_and_choose(const BoostRequest& request, Options& options, int known_trees,
                                                        RunContext& context) {
    std::optional<TrainingJoin> training;
    const auto read = [&](RowContents contents, RowContents contents_of_labels) {
        training.reset();
        training.emplace(read_training_join(request, context, contents, contents_of_labels));
        const Stopwatch watch(training->timings.back().seconds);
        read_target(*training, request, options, context);
        hold_out(*training, request, context);
    };
    read(contents_for(options, false), contents_for(options, true));
    StrategyChoice choice = choose_strategy(training->join, workload_of(*training, known_trees), options, context);
    // A sample goes by the contents of rows, which are not read where hardly any join is sampled.
    if (choice.strategy == Strategy::sample && !training->join.tables()[0].content)
        read(RowContents::read, RowContents::read);
    return {std::move(*training), std::move(choice)};
}

// Returns the model to continue from, whose trees are among those to have in the end; `stored` counts its memory.
std::optional<Model> read_start(const BoostRequest& request, Options& options, std::optional<StoredModel>& stored,
                                RunContext& context) {
    if (!request.start) return std::nullopt;
    stored = read_model(*request.start, context);
    std::optional<Model> start =
        std::move(boosted_trees(*stored, "boost_fit", "start takes a model of btml.boost_fit."));
    const int trees = static_cast<int>(start->iterations()), more = request.options.trees;
    if (more > max_trees - trees)
        throw Error(ErrorCode::invalid_argument,
                    format("start has %d trees: with %d more they are over %d", trees, more, max_trees));
    options.trees = more + trees;
    return start;
}

FitResult fit_here(const BoostRequest& request, Options& options, std::optional<Model> start, RunContext& context) {
    const int known_trees = start ? static_cast<int>(start->iterations()) : 0;
    std::pair<TrainingJoin, StrategyChoice> chosen = read_and_choose(request, options, known_trees, context);
    auto& [training, choice] = chosen;
    relational::Join& join = training.join;
    std::optional<Stopwatch> joining(training.timings.back().seconds);
    const auto fit_join = [&, &training = training, &choice = choice] {
        if (choice.strategy == Strategy::factorize) {
            warn_of_long_sketches(join, options, context);
            relational::GroupedJoin grouped(join, context);
            Dataset dataset = make_dataset(std::move(join), grouped, training.plan, context);
            joining.reset();
            return fit_factorised(std::move(dataset), std::move(grouped), options, context, std::move(start),
                                  choice.allowance);
        }
        auto [rows, sample] = hold_rows(training, choice, options, context);
        Dataset dataset = make_dataset(std::move(join), std::move(rows), training.plan, context);
        joining.reset();
        FitResult result = fit(std::move(dataset), options, context, false, std::move(start));
        result.model.sample = sample;
        return result;
    };
    FitResult result = with_way_out(choice, fit_join);
    result.model.target = request.target;
    result.model.rows_skipped = training.rows_skipped;
    result.model.strategy = name_of(choice.strategy);
    result.model.strategy_reason = choice.reason;
    if (!result.residuals.empty()) result.model.strategy_reason += "; " + result.residuals;
    notice_repeats(training.repeats, one_row_each_or_unit);
    notice_findings(result.findings, request.target);
    report_sketch_error(result.model);
    result.timings.insert(result.timings.begin(), training.timings.begin(), training.timings.end());
    return result;
}

// options: of the request but for the strategy; gets the objective that the target takes, and trees of the start.
FitResult fit_by_strategy(const BoostRequest& request, Options& options, RunContext& context) {
    std::optional<StoredModel> stored;
    std::optional<Model> start = read_start(request, options, stored, context);
    std::optional<FitResult> there;
    if (options.strategy == Strategy::distributed)
        there = fit_over_servers(request, options, std::move(start), context);
    else if (options.strategy == Strategy::automatic)
        there = fit_over_servers_if_it_pays(request, options, start, context);
    FitResult result = there ? std::move(*there) : fit_here(request, options, std::move(start), context);
    notice_too_few_rows(result.model);
    notice_empty_holdout(result.model, request);
    notice_worse_than_constant(result.model);
    return result;
}

// The body of a function (source, target, …) → model, with its defaults.
Datum fit_source(FunctionCallInfo fcinfo, const char* function, const Options& defaults) {
    const BoostRequest request = read_request(fcinfo, defaults);
    BackendContext context(function, request.verbose);
    context.tell_minutes();
    Options options = request.options;
    return model_datum(
        fit_or_enumerate(options, context, [&](Options& of) { return fit_by_strategy(request, of, context); }),
        context);
}

} // namespace

// btml.boost_fit(source, target, trees, learning_rate, …) → model
BTML_FUNCTION(btml_boost_fit) {
    return fit_source(fcinfo, "boost_fit", boost_fit_defaults());
}

// btml.tree_fit(source, target, max_leaves, …) → model
BTML_FUNCTION(btml_tree_fit) {
    return fit_source(fcinfo, "tree_fit", tree_fit_defaults());
}

// Returns a hint at what a linear model has; of others the one that is given.
static const char* instead(const StoredModel& stored, const char* of_others) {
    return std::holds_alternative<linear::Model>(stored.model)
               ? "A linear model has btml.coefficients, any model btml.permutation_importance."
               : of_others;
}

// btml.feature_importance(model, elements boolean) → table(feature text, gain float8, splits bigint), most important
// first
BTML_FUNCTION(btml_feature_importance) {
    ResultRows rows(fcinfo);
    if (PG_ARGISNULL(0)) return rows.done();
    BackendContext context;
    StoredModel stored = read_model(PG_GETARG_DATUM(0), context);
    const Model& model =
        boosted_trees(stored, "feature_importance",
                      instead(stored, "btml.gp_relevance tells what each feature adds to a Gaussian process."));
    const std::vector<FeatureGroup> groups = grouped(model.features, Arguments(fcinfo).boolean(1, "elements"));
    const std::vector<Importance> of_features = feature_importance(model, context);
    std::vector<Importance> importance(groups.size());
    for (size_t g = 0; g < groups.size(); g++)
        for (const Importance& each : std::span(of_features).subspan(groups[g].first, groups[g].count)) {
            importance[g].gain += each.gain;
            importance[g].splits += each.splits;
        }
    for (const size_t g : largest_first(importance.size(), [&](size_t group) { return importance[group].gain; }))
        rows.add_row(groups[g].name, importance[g].gain, importance[g].splits);
    return rows.done();
}

// btml.trees(model) → table(tree, node, parent, depth, feature, threshold, categories, null_left, left_child,
// right_child, value, rows, gain, class)
BTML_FUNCTION(btml_trees) {
    ResultRows rows(fcinfo);
    if (PG_ARGISNULL(0)) return rows.done();
    BackendContext context;
    StoredModel stored = read_model(PG_GETARG_DATUM(0), context);
    const Model& model = boosted_trees(stored, "trees", "btml.summary describes any model.");
    for (size_t t = 0; t < model.trees.size(); t++) {
        std::vector<int> depth(model.trees[t].size(), 0);
        std::string_view label;
        if (model.scores() > 1) label = model.labels[t % model.scores()];
        for (size_t n = 0; n < model.trees[t].size(); n++) {
            const Node& node = model.trees[t][n];
            if (node.parent >= 0) depth[n] = depth[node.parent] + 1;
            const bool leaf = node.is_leaf();
            const Feature* const feature = leaf ? nullptr : &model.features[node.feature];
            const bool categorical = feature && feature->categorical;
            std::vector<std::string_view> labels;
            if (categorical)
                for (uint32_t code : node.categories) labels.push_back(feature->categories[code]);
            rows.add_row(static_cast<int>(t), static_cast<int>(n), null_if(node.parent < 0, node.parent), depth[n],
                         null_if<std::string_view>(leaf, feature ? feature->name : ""),
                         null_if(leaf || categorical, node.threshold), null_if(!categorical, labels),
                         null_if(leaf, node.null_left), null_if(leaf, node.left), null_if(leaf, node.right),
                         null_if(!leaf, node.value), node.rows, null_if(leaf, node.gain),
                         null_if<std::string_view>(model.scores() == 1, label));
        }
    }
    return rows.done();
}

// btml.training_log(model) → table(iteration int, train_loss float8, holdout_loss float8, holdout_metric float8)
BTML_FUNCTION(btml_training_log) {
    ResultRows rows(fcinfo);
    if (PG_ARGISNULL(0)) return rows.done();
    BackendContext context;
    StoredModel stored = read_model(PG_GETARG_DATUM(0), context);
    const Model& model =
        boosted_trees(stored, "training_log", instead(stored, "btml.gp_leave_one_out scores a Gaussian process."));
    for (size_t i = 0; i < model.log.size(); i++)
        rows.add_row(static_cast<int>(i) + 1, model.log[i].train_loss, model.log[i].holdout_loss,
                     model.log[i].holdout_metric);
    return rows.done();
}

namespace {

SqlDialect dialect_of(const std::string& name) {
    for (size_t i = 0; i < std::size(sql_dialect_names); i++)
        if (name == sql_dialect_names[i]) return static_cast<SqlDialect>(i);
    throw Error(ErrorCode::invalid_argument, format("invalid dialect \"%s\"", name.c_str()), "",
                "Valid values are \"postgresql\" and \"ansi\".");
}

size_t label_code(const std::vector<std::string>& labels, const std::string& label) {
    if (labels.empty())
        throw Error(ErrorCode::wrong_type, "model has no labels", "Its target was a number.", "Leave the label NULL.");
    return code_of_label(labels, label);
}

template <class Model>
Datum sql_datum(const Model& model, const Arguments& arguments, RunContext& context) {
    SqlForm form;
    if (arguments.count() > 1) form.dialect = dialect_of(arguments.string(1, "dialect"));
    if (!arguments.is_null(2)) form.label = label_code(model.labels, arguments.string(2, "label"));
    return long_text_datum(to_sql(model, context, form), "the SQL of the model", context);
}

} // namespace

// btml.to_sql(model [, dialect text, label text]) → text
BTML_FUNCTION(btml_to_sql) {
    const Arguments arguments(fcinfo);
    if (arguments.is_null(0)) PG_RETURN_NULL();
    BackendContext context;
    StoredModel stored = read_model(arguments.datum(0, "model"), context);
    if (const auto* const linear_model = std::get_if<linear::Model>(&stored.model))
        return sql_datum(*linear_model, arguments, context);
    return sql_datum(boosted_trees(stored, "to_sql", "btml.predict predicts with any model."), arguments, context);
}

namespace {

// Returns what the options ask for of an aggregate. Errors invalid_argument.
std::pair<Options, LabelRequest> parse_request(const std::string& json) {
    std::pair<Options, LabelRequest> request;
    auto& [options, labels] = request;
    labels.is_of_group = true;
    if (json.empty()) return request;
    options = parse_options(json, options_table, [&, &labels = labels](const JsonOption& given) {
        if (given.name == "positive" && !given.is_null)
            labels.positive = given.text;
        else if (given.name == "class_weights" && !given.is_null)
            labels.weights = read_label_weights(given.json(valid_class_weights));
        else
            return given.name == "positive" || given.name == "class_weights";
        return true;
    });
    if (objective_of(options.objective).ranks)
        throw Error(ErrorCode::invalid_argument, "objective => 'rank' is not valid in btml.boost_fit_agg", "",
                    "btml.boost_fit has it, with a query.");
    return request;
}

void check_request(const std::string& json) {
    parse_request(json);
}

// What a call has said already, whatever the number of its groups: of labels by kind, of constants, of no model.
using Told = std::array<bool, Labels::kinds + 2>;
constexpr size_t told_constant = Labels::kinds, told_no_model = told_constant + 1;

void notice_labels(const Labels& labels, Told& told) {
    for (const Labels::Notice& told_of : labels.notices)
        if (!std::exchange(told[static_cast<size_t>(told_of.about)], true)) notice(told_of.message, "", told_of.hint);
}

void notice_constant(const FitResult& result, Told& told) {
    if (result.constant_reason.empty() || std::exchange(told[told_constant], true)) return;
    notice("a model is a constant: " + result.constant_reason, first_in_call);
}

FitResult fit_over_rows(const RowCollection& rows, Told& told, RunContext& context) {
    auto [options, request] = parse_request(rows.options());
    Dataset dataset = rows.dataset(context);
    Labels labels =
        find_labels({"y", rows.target(), dataset.target, std::move(dataset.labels)}, request, options, context);
    notice_labels(labels, told);
    dataset.labels = std::move(labels.names);
    dataset.label_weights = std::move(labels.weights);
    FitResult result = fit(std::move(dataset), options, context, true);
    notice_constant(result, told);
    Model& model = result.model;
    model.target = "y";
    model.rows_skipped = rows.rows_skipped();
    model.strategy = "enumerate";
    model.strategy_reason = "the rows were aggregated";
    if (!result.constant_reason.empty()) model.strategy_reason += "; " + result.constant_reason;
    return result;
}

} // namespace

// btml_internal.boost_fit_accumulate(state, y float8, x float8[], options btml.json [, weight float8]) → state; y and
// options may be of other types
#define BTML_BOOST_FIT_ACCUMULATE(name, kind, form)                                                                    \
    BTML_FUNCTION(btml_boost_fit_accumulate##name) {                                                                   \
        return accumulate_with_options(fcinfo, check_request, TargetKind::kind, OptionsAs::form);                      \
    }

BTML_BOOST_FIT_ACCUMULATE(, number, jsonb)
BTML_BOOST_FIT_ACCUMULATE(_boolean, boolean, jsonb)
BTML_BOOST_FIT_ACCUMULATE(_label, label, jsonb)
BTML_BOOST_FIT_ACCUMULATE(_text, number, text)
BTML_BOOST_FIT_ACCUMULATE(_boolean_text, boolean, text)
BTML_BOOST_FIT_ACCUMULATE(_label_text, label, text)

// btml_internal.boost_fit_final(state) → model; NULL when there was no row to train on
BTML_FUNCTION(btml_boost_fit_final) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    BackendContext context("boost_fit_agg");
    context.tell_minutes();
    Told& told = kept_at_call_site<Told>(fcinfo, [] { return std::make_unique<Told>(); });
    return train_on_rows(fcinfo, context, [&](const RowCollection& rows) {
        try {
            return model_datum(fit_over_rows(rows, told, context), context);
        } catch (const NothingToTrainOn& reason) {
            notice_no_model(reason, told[told_no_model]);
        }
        fcinfo->isnull = true;
        return Datum{};
    });
}

} // namespace btml::pg
