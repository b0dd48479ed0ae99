// SQL functions that validate and tune fits: btml.cross_validate and btml.tune.
#include "core/relational/join/join_rows.hpp"
#include "core/validation/boosted_scorer.hpp"
#include "core/validation/folds.hpp"
#include "core/validation/gp_scorer.hpp"
#include "core/validation/linear_scorer.hpp"
#include "core/validation/race.hpp"
#include "core/validation/search_space.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/given_exemplars.hpp"
#include "pg/linear.hpp"
#include "pg/source/boosting_source.hpp"
#include "pg/source/training_join.hpp"
#include "pg/values/json.hpp"
#include "pg/values/result.hpp"

#include <cmath>
#include <set>

extern "C" {
#include "utils/timestamp.h"
}

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
        table.check(options);
    }

    const NamedArguments named;
    const FitArguments arguments;
    validation::Options options;
};

// The space that btml.tune searches: read from JSON, its points as options of fits, and written as JSON again.
struct Space {
    std::vector<validation::Dimension> dimensions;
    std::vector<validation::Point> points = {{}}; // of nothing to choose, the one

    // What has no effect beside another option of the space, as l1_ratio beside a penalty of 0, gets its default. Of
    // points that are equal then, the first is kept.
    template <class Options>
    void draw(const OptionsTable<Options>& table, size_t count, uint64_t seed) {
        points.clear();
        for (validation::Point& point : points_of(dimensions, count, seed)) {
            Options trial;
            for (size_t d = 0; d < point.size(); d++) table.assign(trial, option_at(table, d), point[d]);
            for (size_t d = 0; d < point.size(); d++)
                for (const Need<Options>& need : option_at(table, d).needs)
                    if (has(need.other) && !need.holds(trial))
                        point[d] = option_at(table, d).get(Options(), option_at(table, d));
            if (std::find(points.begin(), points.end(), point) == points.end()) points.push_back(std::move(point));
        }
    }
    bool has(std::string_view name) const {
        return std::any_of(dimensions.begin(), dimensions.end(), [&](const auto& each) { return each.name == name; });
    }
    template <class Options>
    const Option<Options>& option_at(const OptionsTable<Options>& table, size_t dimension) const {
        return *table.find(dimensions[dimension].name);
    }
    // Returns the options of each point. Error invalid_argument for those that do not go with each other.
    template <class Options>
    std::vector<Options> trials(const OptionsTable<Options>& table, const Options& options) const {
        std::vector<Options> trials;
        for (const validation::Point& point : points) {
            Options& trial = trials.emplace_back(options);
            for (size_t d = 0; d < point.size(); d++) table.assign(trial, option_at(table, d), point[d]);
            trial.validate();
        }
        return trials;
    }
};

[[noreturn]] void refuse(const JsonOption& given, const char* what, const char* hint) {
    throw Error(ErrorCode::invalid_argument, format("space of option \"%s\" %s", given.name.c_str(), what), "", hint);
}

constexpr const char* two_forms =
    "Give a list of values, or {\"from\": …, \"to\": …, \"scale\": \"linear\" or \"log\"}.";

double bound_of(const JsonOption& bound, const JsonOption& given, const OptionFacts& option) {
    JsonOption as_option = bound;
    as_option.name = given.name;
    const OptionValue value = as_option.value(option);
    option.check(value);
    const auto* const integer = std::get_if<int64_t>(&value);
    return integer ? static_cast<double>(*integer) : std::get<double>(value);
}

Dimension read_range(const JsonOption& given, const OptionFacts& option) {
    if (option.type != OptionType::integer && option.type != OptionType::number)
        refuse(given, "is a range, and the option is no number", "Give a list of values.");
    Dimension range;
    range.name = given.name;
    range.is_integer = option.type == OptionType::integer;
    bool has_from = false, has_to = false;
    for (const JsonOption& part : json_options(given.text)) {
        if (part.name == "from") {
            has_from = true;
            range.from = bound_of(part, given, option);
        } else if (part.name == "to") {
            has_to = true;
            range.to = bound_of(part, given, option);
        } else if (part.name == "scale") {
            if (part.text != "linear" && part.text != "log")
                refuse(given, "has a scale that is none", "Valid scales are \"linear\" and \"log\".");
            range.is_log = part.text == "log";
        } else
            refuse(given, ("has an unknown member \"" + part.name + "\"").c_str(), two_forms);
    }
    if (!has_from || !has_to) refuse(given, "has no from or no to", two_forms);
    if (option.range.zero && range.from == 0 && range.to != 0)
        refuse(given, format("begins at 0, which stands for something else: %s", option.range.zero).c_str(),
               "Begin above 0, or give a list.");
    return range;
}

Dimension read_list(const JsonOption& given, const OptionFacts& option, const std::vector<JsonOption>& elements) {
    if (elements.empty()) refuse(given, "is an empty list", two_forms);
    Dimension list;
    list.name = given.name;
    std::set<OptionValue> seen;
    for (const JsonOption& element : elements) {
        const OptionValue value = element.value(option);
        option.check(value);
        if (seen.insert(value).second) list.values.push_back(value);
    }
    return list;
}

// What a fit gets in another form than it was given, or what is no part of it.
bool is_rewritten(const std::string& name) {
    static constexpr std::string_view names[] = {"trees",   "early_stopping", "metric", "holdout",
                                                 "exclude", "verbose",        "unit"};
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

void add_given(JsonWriter& json, const JsonOption& given) {
    if (given.is_null || given.number || given.boolean || given.is_nested)
        json.add_json(given.name, given.text);
    else
        json.add(given.name, given.text);
}

// The column of folds or groups would be a feature otherwise. Rows held out stay so: whoever trains on them says it.
// The unit may be an argument of its own.
void add_columns(JsonWriter& json, const TrainingRequest& request) {
    if (request.holdout) json.add("holdout", *request.holdout);
    if (request.unit == Unit::target) json.add("unit", "target");
    std::vector<std::string> columns = request.exclude;
    const std::optional<std::string>& apart = request.fold ? request.fold : request.group_by;
    if (!request.features && apart && std::find(columns.begin(), columns.end(), *apart) == columns.end())
        columns.push_back(*apart);
    if (columns.empty()) return;
    json.begin_array("exclude");
    for (const std::string& column : columns) json.add_item(std::string_view(column));
    json.end_array();
}

// Error invalid_argument for a space of no option.
std::vector<JsonOption> space_members(const NamedArguments& call) {
    std::vector<JsonOption> members = json_options(json_text(call.datum("space")), "space");
    if (members.empty())
        throw Error(ErrorCode::invalid_argument, "space has no options", "",
                    "Give values for some, as {\"max_leaves\": [15, 31, 63]}.");
    return members;
}

// Reads a list of the option's values, or a range {"from": …, "to": …, "scale": "linear" or "log"}. Errors
// invalid_argument naming the option.
Dimension read_dimension(const JsonOption& given, const OptionFacts& option) {
    if (!given.is_nested) refuse(given, "is neither a list nor a range", two_forms);
    const std::optional<std::vector<JsonOption>> elements = json_elements(given.text, given.name);
    Dimension dimension = elements ? read_list(given, option, *elements) : read_range(given, option);
    check(dimension);
    return dimension;
}

// Reads the argument `space` of options in the table, but for those that are not to be tuned, and draws the trials.
// Errors invalid_argument naming the option.
template <class Options>
Space read_space(const Call& call, const OptionsTable<Options>& table,
                 std::initializer_list<std::string_view> not_tuned) {
    const FitArguments& arguments = call.arguments;
    Space space;
    std::vector<std::string> names;
    for (const Option<Options>& option : table)
        if (option.get && std::find(not_tuned.begin(), not_tuned.end(), option.name) == not_tuned.end())
            names.emplace_back(option.name);
    for (const JsonOption& given : space_members(arguments.call())) {
        const auto has_name = [&](const auto& other) { return given.name == other.name; };
        if (std::find(names.begin(), names.end(), given.name) == names.end()) {
            if (std::any_of(table.begin(), table.end(), has_name))
                throw Error(ErrorCode::invalid_argument, format("option \"%s\" cannot be tuned", given.name.c_str()),
                            "Options to tune are " + quoted_list(names) + ".",
                            "It is the same for all trials: give it in options.");
            refuse_threads(given.name);
            unknown_option(given.name, names, table.foreign_names);
        }
        const std::vector<JsonOption>& others = arguments.given();
        if (std::any_of(others.begin(), others.end(), has_name))
            throw Error(ErrorCode::invalid_argument,
                        format("option \"%s\" is both in options and in space", given.name.c_str()));
        space.dimensions.push_back(read_dimension(given, *table.find(given.name)));
    }
    space.draw(table, static_cast<size_t>(call.options.trials), static_cast<uint64_t>(call.options.seed));
    return space;
}

// Returns what a fit takes to train as a trial did, with so many trees: the options that were given, the trial's own,
// and the columns that were no features of it. A jsonb.
Datum trial_options(const Space& space, size_t trial, const FitArguments& arguments, const TrainingRequest& request,
                    std::optional<int> trees, RunContext& context) {
    JsonWriter json(context);
    json.begin_object();
    for (const JsonOption& given : arguments.given())
        if (!is_rewritten(given.name)) add_given(json, given);
    const validation::Point& point = space.points[trial];
    for (size_t d = 0; d < point.size(); d++)
        if (!trees || space.dimensions[d].name != "trees") add_option(json, space.dimensions[d].name, point[d]);
    if (trees) json.add("trees", *trees);
    add_columns(json, request);
    json.end_object();
    return json.datum();
}

// Trials are options that a fit takes, the first of the space where there is one.
struct Contest {
    TrainingRequest request;
    std::unique_ptr<const Folds> folds; // which the scorer refers to
    std::unique_ptr<Scorer> scorer;
    std::string metric;
    std::optional<Reservation> exemplars = {}; // that were given
};

// Returns the time in seconds since 1970 that is this much earlier, by the calendar of UTC.
double earlier(double time, const Interval& gap, const std::string& column) {
    constexpr double microseconds = 1e6, epoch = (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * 86400.0;
    constexpr double longest_month = 31 * 86400.0, longest_year = 12 * longest_month;
    const double since = (time - epoch) * microseconds;
    if (!(since >= MIN_TIMESTAMP && since < END_TIMESTAMP))
        throw Error(
            ErrorCode::out_of_range,
            format("order_by \"%s\" has a date that no timestamp has, from which gap cannot be taken", column.c_str()));
    const double longest = gap.month * longest_month + gap.day * 86400.0 + gap.time / microseconds;
    if (longest + longest_year > (since - MIN_TIMESTAMP) / microseconds)
        return -std::numeric_limits<double>::infinity();
    const Timestamp before = std::llrint(since);
    const Timestamp made = pg_call([=] {
        return DatumGetTimestamp(
            DirectFunctionCall2(timestamp_mi_interval, TimestampGetDatum(before), IntervalPGetDatum(&gap)));
    });
    return static_cast<double>(made) / microseconds + epoch;
}

// Reads the argument gap: how long before what a fold scores its training ends.
DivisionRule read_rule(const Call& call, const TrainingRequest& request) {
    DivisionRule rule{request.division()};
    if (call.named.is_null("gap")) return rule;
    if (!request.order_by)
        throw Error(ErrorCode::invalid_argument, "gap needs an order_by", "It is a time between training and scoring.",
                    "Name a column of times in order_by.");
    const Interval gap = *DatumGetIntervalP(call.named.datum("gap"));
    if (gap.month < 0 || gap.day < 0 || gap.time < 0)
        throw Error(ErrorCode::invalid_argument, "gap must not be negative");
    const Source::Column& column = request.source.columns()[request.source.column(*request.order_by)];
    if (is_plain_number(column.number)) {
        if (gap.month != 0 || gap.day != 0)
            throw Error(ErrorCode::wrong_type,
                        format("gap is of days or months, order_by \"%s\" is a number", column.name.c_str()), "",
                        "Give its length as a number, as gap => '12'.");
        rule.train_end = [=](double first) { return first - static_cast<double>(gap.time) / 1e6; };
    } else if (column.number == NumberKind::date && gap.month == 0 && gap.day == 0 && gap.time != 0 &&
               gap.time < USECS_PER_DAY)
        throw Error(ErrorCode::invalid_argument,
                    format("gap is less than a day, and order_by \"%s\" is a date", column.name.c_str()), "",
                    "Give it with its unit, as gap => '90 days'.");
    else
        rule.train_end = [gap, name = column.name](double first) { return earlier(first, gap, name); };
    return rule;
}

std::unique_ptr<const Folds> make_folds(const Dataset& dataset, const Buffer<uint64_t>& contents, const Call& call,
                                        const TrainingRequest& request, const DivisionRule& rule, RunContext& context) {
    return std::make_unique<Folds>(assign_folds(dataset, contents, call.options.folds,
                                                static_cast<uint64_t>(call.options.seed), context,
                                                request.holdout.value_or(""), rule));
}

// Reads the tables once, with the contents of the target's rows, which folds go by.
TrainingJoin read_rows(const TrainingRequest& request, const char* hint_of_repeats, RunContext& context) {
    TrainingJoin training = read_training_join(request, context, RowContents::read, RowContents::read);
    notice_repeats(training.repeats, hint_of_repeats);
    const relational::DatasetPlan& plan = training.plan;
    if (request.fold) {
        relational::DataColumn& column = column_at(training.join, plan.divider->place);
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

HoldoutMetric metric_of(const boosting::Options& options, const std::string& called = {}) {
    const HoldoutMetric metric =
        options.metric.value_or(boosting::usual_metric(options.objective).value_or(HoldoutMetric::ndcg));
    check_metric(metric, options.objective, called);
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

void notice_lone_labels(const LoneLabels& lone, bool are_ordered) {
    if (lone.empty()) return;
    if (are_ordered) {
        notice(format("label \"%s\" is in fold \"%s\", but in no row that its model is trained on%s",
                      lone[0].first.c_str(), lone[0].second.c_str(),
                      lone.size() == 1 ? "" : format("; the same holds for %zu more", lone.size() - 1).c_str()),
               "", "Ask for fewer folds.");
        return;
    }
    const std::string others = lone.size() == 1   ? ""
                               : lone.size() == 2 ? ", and one more label in one fold alone"
                                                  : format(", and %zu more labels in one fold each", lone.size() - 1);
    const auto& [label, fold] = lone[0];
    notice("label \"" + label + "\" is in fold \"" + fold + "\" alone" + others,
           "The model that scores it there has never seen it.", "Ask for fewer folds, or name another column as fold.");
}

Contest boosted_contest(const Call& call, const Space& space, RunContext& context) {
    BoostRequest request = read_boost_request(call.arguments, boosting::boost_fit_defaults());
    const DivisionRule rule = read_rule(call, request);
    TrainingJoin training = read_rows(request, one_row_each_or_unit, context);
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
    Contest contest{request, make_folds(dataset, contents, call, request, rule, context), nullptr,
                    boosting::holdout_metric_names[static_cast<size_t>(*options.metric)]};
    notice_lone_labels(check_labels(dataset, *contest.folds, *options.metric, context), request.order_by.has_value());
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
    const DivisionRule rule = read_rule(call, request);
    gp::Options options;
    call.arguments.read(gp::options_table, options);
    const std::optional<GivenSource> exemplars = read_exemplar_source(call.arguments, request.args, options);
    const GpMetric metric = gp_metric_of(call.named);
    TrainingJoin training = read_rows(request, one_row_each, context);
    relational::JoinRows held = relational::enumerate(training.join, context);
    const Buffer<uint64_t> contents = take_contents(training);
    Dataset dataset = make_dataset(std::move(training.join), std::move(held), training.plan, context);
    Reservation given = read_exemplars(exemplars, dataset, options, context);
    Contest contest{request, make_folds(dataset, contents, call, request, rule, context), nullptr,
                    gp_metric_names[static_cast<size_t>(metric)], std::move(given)};
    contest.scorer = std::make_unique<GpScorer>(std::move(dataset), *contest.folds,
                                                space.trials(gp::options_table, options), metric, context);
    return contest;
}

// Scores are those of trees whose objective is like the family.
ObjectiveNumber objective_like(linear::Family family) {
    switch (family) {
    case linear::Family::binomial:
        return ObjectiveNumber::binary;
    case linear::Family::poisson:
        return ObjectiveNumber::poisson;
    case linear::Family::gamma:
        return ObjectiveNumber::gamma;
    default:
        return ObjectiveNumber::squared;
    }
}

HoldoutMetric linear_metric_of(const Call& call, linear::Family family) {
    boosting::Options scored;
    const Option<boosting::Options>& metric = *boosting::options_table.find("metric");
    if (!call.named.is_null("metric")) boosting::options_table.assign(scored, metric, option_value(call.named, metric));
    scored.objective = objective_like(family);
    return metric_of(scored, format("family '%s'", name_of(family)));
}

Contest linear_contest(const Call& call, const Space& space, RunContext& context) {
    const LinearRequest request = read_linear_request(call.arguments);
    const DivisionRule rule = read_rule(call, request);
    TrainingJoin training = read_rows(request, one_row_each, context);
    linear::Options options = request.options;
    read_linear_target(training, request, options, context);
    const HoldoutMetric metric = linear_metric_of(call, options.family);
    relational::JoinRows held = relational::enumerate(training.join, context);
    const Buffer<uint64_t> contents = take_contents(training);
    Dataset dataset = make_dataset(std::move(training.join), std::move(held), training.plan, context);
    Contest contest{request, make_folds(dataset, contents, call, request, rule, context), nullptr,
                    boosting::holdout_metric_names[static_cast<size_t>(metric)]};
    notice_lone_labels(check_labels(dataset, *contest.folds, metric, context), request.order_by.has_value());
    contest.scorer = std::make_unique<LinearScorer>(std::move(dataset), *contest.folds,
                                                    space.trials(linear::options_table, options), metric, context);
    return contest;
}

void check_names(const Call& call) {
    for (const JsonOption& given : call.arguments.given())
        if (FitArguments::is_of_one_holdout(given.name))
            throw Error(ErrorCode::invalid_argument,
                        format("option \"%s\" is not valid with folds", given.name.c_str()),
                        "It says which rows a single fit holds out.",
                        given.name == "holdout_fraction" ? "Name a boolean column in holdout."
                                                         : format("Give it as the argument %s.", given.name.c_str()));
    switch (call.options.method) {
    case Method::gp:
        return call.arguments.check_names(gp::options_table, true);
    case Method::linear:
        return call.arguments.check_names(linear::options_table, true);
    case Method::boost:
        return call.arguments.check_names(boosting::options_table, true);
    }
}

Space space_of(const Call& call) {
    switch (call.options.method) {
    case Method::gp:
        return read_space(call, gp::options_table, {"seed", "holdout_fraction"});
    case Method::linear:
        return read_space(call, linear::options_table, {"family", "std_error", "seed", "holdout_fraction"});
    default:
        return read_space(call, boosting::options_table,
                          {"strategy", "sample_rows", "metric", "early_stopping", "residuals", "sketch_size", "epsilon",
                           "delta", "verify", "objective", "seed", "deviation", "unit", "holdout_fraction"});
    }
}

Contest make_contest(const Call& call, const Space& space, RunContext& context) {
    Contest contest = call.options.method == Method::gp       ? gp_contest(call, space, context)
                      : call.options.method == Method::linear ? linear_contest(call, space, context)
                                                              : boosted_contest(call, space, context);
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
                       curves[fold].seconds, null_if(!contest.scorer->has_trees(), static_cast<int>(best.trees)));
    return result.done();
}

// btml.tune(source, target, space, trials, folds, fold, method, options, metric, seed, holdout) → table(trial int,
// options jsonb, score float8, std_error float8, holdout_score float8, trees int, seconds float8, best boolean, folds
// int)
BTML_FUNCTION(btml_tune) {
    const Call call(fcinfo, tune_options_table);
    check_names(call);
    const Space space = space_of(call);
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
