// SQL functions that validate and tune fits: btml.cross_validate and btml.tune.
#include "core/relational/join/join_rows.hpp"
#include "core/validation/boosted_scorer.hpp"
#include "core/validation/fold_labels.hpp"
#include "core/validation/gp_scorer.hpp"
#include "core/validation/race.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/given_exemplars.hpp"
#include "pg/source/boosting_source.hpp"
#include "pg/tuning_space.hpp"
#include "pg/values/result.hpp"

namespace btml::pg {

using namespace validation;
using boosting::HoldoutMetric;
using boosting::ObjectiveNumber;

namespace {

// A call of either function.
struct Call {
    Call(FunctionCallInfo fcinfo, const OptionsTable<validation::Options>& table)
        : named(fcinfo), arguments(named, {"seed"}) {
        read_options(named, table, options);
    }

    const NamedArguments named;
    const FitArguments arguments;
    validation::Options options;
};

// Trials are options that a fit takes, the first of the space where there is one.
struct Contest {
    TrainingRequest request;
    std::unique_ptr<const Folds> folds; // which the scorer refers to
    std::unique_ptr<Scorer> scorer;
    std::string metric;
    std::optional<Reservation> exemplars = {}; // that were given
};

std::unique_ptr<const Folds> make_folds(const Dataset& dataset, const Buffer<uint64_t>& contents, const Call& call,
                                        const TrainingRequest& request, RunContext& context) {
    return std::make_unique<Folds>(assign_folds(dataset, contents, call.options.folds,
                                                static_cast<uint64_t>(call.options.seed), context,
                                                request.holdout.value_or("")));
}

// Reads the tables once, with the contents of the target's rows, which folds go by.
TrainingJoin read_rows(const TrainingRequest& request, RunContext& context) {
    TrainingJoin training = read_training_join(request, context, RowContents::read, RowContents::read);
    const relational::DatasetPlan& plan = training.plan;
    if (plan.fold) {
        relational::DataColumn& column = column_at(training.join, plan.fold->place);
        relational::drop_unused_categories(column, context);
        check_fold_count(*request.fold, column.categories.size());
        sort_categories(column, training.fold_type, context);
    }
    return training;
}

// After rows were dropped from the tables, where only a sample is held.
Buffer<uint64_t> take_contents(TrainingJoin& training) {
    return std::move(*training.join.tables()[training.plan.target.table].content);
}

HoldoutMetric metric_of(const boosting::Options& options) {
    const HoldoutMetric metric =
        options.metric.value_or(boosting::usual_metric(options.objective).value_or(HoldoutMetric::ndcg));
    check_metric(metric, options.objective);
    return metric;
}

// Scores by a loss that the trials change themselves would say nothing.
void check_comparable(const Space& space, HoldoutMetric metric) {
    if (metric != HoldoutMetric::pinball) return;
    for (const Dimension& dimension : space.dimensions)
        if (dimension.name == "alpha")
            throw Error(ErrorCode::invalid_argument, "option \"alpha\" cannot be tuned by metric 'pinball'",
                        "That loss is one of alpha: it is least for the most extreme.",
                        "Give alpha in options, or metric => 'mae'.");
}

// What a fit with the options of a trial would refuse. The base options are checked with the target.
void check_labels_of(const Space& space, const BoostRequest& request, bool has_labels) {
    const auto is_balanced = [](const Dimension& dimension) {
        return dimension.name == "balanced" &&
               std::find(dimension.values.begin(), dimension.values.end(), OptionValue(true)) != dimension.values.end();
    };
    if (std::none_of(space.dimensions.begin(), space.dimensions.end(), is_balanced)) return;
    if (!has_labels)
        throw Error(ErrorCode::invalid_argument,
                    "balanced is not valid for target \"" + request.target + "\", which has no labels");
    if (request.labels.weights)
        throw Error(ErrorCode::invalid_argument, "class_weights and balanced are not valid together", "",
                    "Give one of them.");
}

void notice_lone_labels(const LoneLabels& lone) {
    if (lone.empty()) return;
    const std::string others = lone.size() == 1   ? ""
                               : lone.size() == 2 ? ", and one more label in one fold alone"
                                                  : format(", and %zu more labels in one fold each", lone.size() - 1);
    const auto& [label, fold] = lone[0];
    notice("label \"" + label + "\" is in fold \"" + fold + "\" alone" + others,
           "The model that scores it there has never seen it.", "Ask for fewer folds, or name another column as fold.");
}

Contest boosted_contest(const Call& call, const Space& space, RunContext& context) {
    BoostRequest request = read_boost_request(call.arguments, boosting::boost_fit_defaults());
    TrainingJoin training = read_rows(request, context);
    boosting::Options options = request.options;
    read_target(training, request, options, context);
    options.metric = metric_of(options);
    check_comparable(space, *options.metric);
    const size_t labels = training.plan.labels.size();
    check_labels_of(space, request, labels > 0);
    boosting::StrategyChoice choice =
        choose_held_rows(training.join, options, "folds need the rows of the join", context, labels);
    relational::JoinRows held = hold_rows(training, choice, options, context).first;
    const Buffer<uint64_t> contents = take_contents(training);
    Dataset dataset = make_dataset(std::move(training.join), std::move(held), training.plan, context);
    Contest contest{request, make_folds(dataset, contents, call, request, context), nullptr,
                    boosting::holdout_metric_names[static_cast<size_t>(*options.metric)]};
    notice_lone_labels(check_labels(dataset, *contest.folds, *options.metric, context));
    auto scorer = std::make_unique<BoostedScorer>(std::move(dataset), *contest.folds,
                                                  space.trials(boosting::options_table, options), context);
    notice_findings(scorer->findings(), request.target);
    contest.scorer = std::move(scorer);
    return contest;
}

GpMetric gp_metric_of(const NamedArguments& arguments) {
    validation::Options options;
    if (!arguments.is_null("metric")) read_options(arguments, gp_metric_table, options);
    return options.gp_metric;
}

Contest gp_contest(const Call& call, const Space& space, RunContext& context) {
    const TrainingRequest request = read_training_request(call.arguments);
    gp::Options options;
    call.arguments.read(gp::options_table, options);
    const std::optional<std::string> exemplars = read_exemplar_source(call.arguments, options);
    const GpMetric metric = gp_metric_of(call.named);
    TrainingJoin training = read_rows(request, context);
    relational::JoinRows held = relational::enumerate(training.join, context);
    const Buffer<uint64_t> contents = take_contents(training);
    Dataset dataset = make_dataset(std::move(training.join), std::move(held), training.plan, context);
    Reservation given = read_exemplars(exemplars, dataset, options, context);
    Contest contest{request, make_folds(dataset, contents, call, request, context), nullptr,
                    gp_metric_names[static_cast<size_t>(metric)], std::move(given)};
    contest.scorer = std::make_unique<GpScorer>(std::move(dataset), *contest.folds,
                                                space.trials(gp::options_table, options), metric, context);
    return contest;
}

bool is_gp(const Call& call) {
    return call.options.method == Method::gp;
}

void check_names(const Call& call) {
    if (is_gp(call))
        call.arguments.check_names(gp::options_table, true);
    else
        call.arguments.check_names(boosting::options_table, true);
}

Contest make_contest(const Call& call, const Space& space, RunContext& context) {
    Contest contest = is_gp(call) ? gp_contest(call, space, context) : boosted_contest(call, space, context);
    if (contest.request.holdout && contest.folds->withheld_rows == 0)
        notice("holdout \"" + *contest.request.holdout + "\" is true for no row", "", "Every row is in the folds.");
    return contest;
}

} // namespace

// btml.cross_validate(source, target, folds, fold, method, options, metric, seed) → table(fold text, rows bigint,
// metric text, value float8, seconds float8, trees int)
BTML_FUNCTION(btml_cross_validate) {
    const Call call(fcinfo, cross_validate_options_table);
    check_names(call);
    ResultRows result(fcinfo);
    BackendContext context("cross_validate", call.arguments.boolean("verbose"));
    context.tell_minutes();
    const Contest contest = make_contest(call, Space(), context);
    const Folds& folds = *contest.folds;
    if (folds.withheld_rows > 0)
        notice(format("%" PRIu64 " row%s in no fold: holdout \"%s\" is true", folds.withheld_rows,
                      folds.withheld_rows == 1 ? " is" : "s are", contest.request.holdout->c_str()));
    const std::vector<Curve> curves = contest.scorer->curves(0, 0, folds.size(), 1, "");
    tell_device_failure(context);
    const Best best = best_of_mean(curves, *contest.scorer);
    for (size_t fold = 0; fold < folds.size(); fold++)
        result.add_row(folds.names[fold], static_cast<int64>(folds.rows[fold]), contest.metric, best.values[fold],
                       curves[fold].seconds, null_if(is_gp(call), static_cast<int>(best.trees)));
    return result.done();
}

// btml.tune(source, target, space, trials, folds, fold, method, options, metric, seed, holdout) → table(trial int,
// options jsonb, score float8, std_error float8, holdout_score float8, trees int, seconds float8, best boolean, folds
// int)
BTML_FUNCTION(btml_tune) {
    const Call call(fcinfo, tune_options_table);
    check_names(call);
    Space space = is_gp(call)
                      ? read_space(call.arguments, gp::options_table, {"seed"})
                      : read_space(call.arguments, boosting::options_table,
                                   {"strategy", "sample_rows", "metric", "early_stopping", "residuals", "sketch_size",
                                    "epsilon", "delta", "verify", "objective", "seed", "deviation"});
    space.draw(static_cast<size_t>(call.options.trials), static_cast<uint64_t>(call.options.seed));
    ResultRows result(fcinfo);
    BackendContext context("tune", call.arguments.boolean("verbose"));
    context.tell_minutes();
    const Contest contest = make_contest(call, space, context);
    const bool is_scored = contest.folds->withheld_rows > 0;
    const std::vector<TrialResult> trials =
        race(*contest.scorer, space.points.size(), contest.folds->size(), is_scored, context);
    tell_device_failure(context);
    for (size_t i = 0; i < trials.size(); i++) {
        const TrialResult& trial = trials[i];
        const std::optional<int> trees = null_if(trial.trees == 0, static_cast<int>(trial.trees));
        const Datum options = trial_options(space, i, call.arguments, contest.request, trees, context);
        result.add_row(static_cast<int>(i) + 1, SqlValue{options}, trial.score, trial.std_error, trial.withheld, trees,
                       trial.seconds, trial.is_best, static_cast<int>(trial.folds));
        pg_call([=] { pfree(DatumGetPointer(options)); });
    }
    return result.done();
}

} // namespace btml::pg
