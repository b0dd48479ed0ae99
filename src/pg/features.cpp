// btml.relational_features, btml.feature_sql, btml.feature_list: features of things from the tables around them.
#include "pg/bridge/backend_context.hpp"
#include "pg/features_catalogue.hpp"
#include "pg/features_selection.hpp"
#include "pg/features_values.hpp"
#include "pg/values/named_options.hpp"
#include "pg/values/result.hpp"

#include "core/features/sql_names.hpp"

extern "C" {
#include "datatype/timestamp.h"
#include "utils/jsonb.h"
}

namespace btml::pg {

using namespace features;

namespace {

constexpr uint64_t min_target_rows = 20;
constexpr char relations_hint[] =
    R"(relations is an object by name of relation, as in {"calls": {"table": "call", "key": {"customer_id": "customer_id"}}}.)";
constexpr char no_key_hint[] = "Give the source's table a foreign key to the table of the thing, or name relations.";

// "1 month 2 days 3 hours", which reads back as the interval whatever the session's style is.
std::string interval_text(const Interval& interval) {
    constexpr int64 second = 1'000'000, minute = 60 * second, hour = 60 * minute;
    std::string text;
    const auto add = [&](int64 count, const char* unit) {
        if (count == 0) return;
        text += (text.empty() ? "" : " ") + std::to_string(count) + " " + unit + (count == 1 ? "" : "s");
    };
    add(interval.month / 12, "year");
    add(interval.month % 12, "month");
    add(interval.day, "day");
    add(interval.time / hour, "hour");
    add(interval.time % hour / minute, "minute");
    add(interval.time % minute / second, "second");
    add(interval.time % second, "microsecond");
    return text;
}

// Error invalid_argument unless the interval is positive in all its parts, and one that timestamps of our times have.
void require_positive(const Interval& interval, const std::string& text) {
    constexpr double day = 86'400e6, year = 365 * day;
    if (interval.month / 12.0 + interval.day * day / year + static_cast<double>(interval.time) / year > 1000)
        throw Error(ErrorCode::invalid_argument,
                    "windows must be intervals of at most 1000 years, or NULL for all rows",
                    "One is \"" + text + "\".");
    if (interval.month >= 0 && interval.day >= 0 && interval.time >= 0 && !interval_text(interval).empty()) return;
    throw Error(ErrorCode::invalid_argument, "windows must be positive intervals, or NULL for all rows",
                interval_text(interval).empty() ? "One is empty." : "One is \"" + text + "\".");
}

// Checks the windows of a plan that may come from anywhere.
void check_windows(const Plan& plan) {
    for (const Definition& feature : plan.features) {
        if (feature.window.empty()) continue;
        const char* const text = feature.window.c_str();
        const Interval* const interval = pg_call([=] {
            return DatumGetIntervalP(DirectFunctionCall3(interval_in, CStringGetDatum(text),
                                                         ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
        });
        require_positive(*interval, feature.window);
    }
}

// Returns the windows as texts, each once; "" for NULL, which is all rows.
std::vector<std::string> read_windows(const NamedArguments& arguments) {
    if (arguments.is_null("windows")) return {"30 days", "90 days", "1 year", "3 years", ""};
    const ArrayElements elements = elements_of(arguments.datum("windows"), INTERVALOID, "windows");
    std::vector<std::string> windows;
    for (size_t i = 0; i < elements.values.size(); i++) {
        std::string window;
        if (!elements.nulls[i]) {
            const Interval& interval = *DatumGetIntervalP(elements.values[i]);
            window = interval_text(interval);
            require_positive(interval, window);
        }
        if (std::find(windows.begin(), windows.end(), window) == windows.end()) windows.push_back(window);
    }
    if (windows.empty())
        throw Error(ErrorCode::invalid_argument, "windows must not be empty", "",
                    "NULL as an element stands for all rows.");
    return windows;
}

[[noreturn]] void refuse_argument(const std::string& name, const std::string& fault) {
    throw Error(ErrorCode::invalid_argument, format("relation \"%s\" %s", name.c_str(), fault.c_str()), "",
                relations_hint);
}

// One relation of the argument "relations", and its table's name.
struct GivenRelation {
    RelationRequest request;
    std::string table = {};
};

std::string text_of(const JsonOption& option, const char* member, const std::string& relation) {
    if (option.is_null) refuse_argument(relation, format("has null in \"%s\"", member));
    return option.text;
}

std::vector<std::string> texts_of(const JsonOption& option, const std::string& relation) {
    std::vector<std::string> texts;
    const auto elements = json_elements(option.is_nested ? option.text : "{}", option.name);
    if (!elements) refuse_argument(relation, "has \"columns\" that are no array");
    for (const JsonOption& element : *elements) texts.push_back(text_of(element, "columns", relation));
    return texts;
}

// The column of a relation's time; "" for null, which is none.
std::string read_time(const JsonOption& option, const std::string& relation) {
    if (option.is_null) return {};
    if (option.text.empty()) refuse_argument(relation, "has an empty \"time\"");
    return option.text;
}

void read_key(const JsonOption& option, RelationRequest& request) {
    if (!option.is_nested) refuse_argument(request.name, "has a key that is no object");
    for (const JsonOption& pair : json_options(option.text, "a key", relations_hint))
        request.key.push_back({pair.name, text_of(pair, "key", request.name)});
}

GivenRelation read_relation(const JsonOption& given) {
    GivenRelation relation{.request = {.name = given.name}};
    RelationRequest& request = relation.request;
    if (given.boolean == false) {
        request.left_out = true;
        return relation;
    }
    if (!given.is_nested) refuse_argument(given.name, "must be an object, or false to be left out");
    for (const JsonOption& option :
         json_options(given.text, ("relation \"" + given.name + "\"").c_str(), relations_hint)) {
        if (option.name == "table")
            relation.table = text_of(option, "table", given.name);
        else if (option.name == "of")
            request.of = option.text;
        else if (option.name == "key")
            read_key(option, request);
        else if (option.name == "time")
            request.time = read_time(option, given.name);
        else if (option.name == "columns")
            request.columns = texts_of(option, given.name);
        else if (option.name == "last" && !option.boolean)
            refuse_argument(given.name, "has a \"last\" that is neither true nor false");
        else if (option.name == "last")
            request.last = *option.boolean;
        else
            refuse_argument(given.name,
                            "has \"" + option.name +
                                "\", not one of \"table\", \"key\", \"of\", \"time\", \"columns\", \"last\"");
    }
    const bool is_found = relation.table.empty();
    if (is_found != request.key.empty() || (is_found && (!request.of.empty() || request.last)))
        refuse_argument(given.name, "needs a table and a key, or neither");
    return relation;
}

// Relations come by name from a jsonb, and one may be of another: those it is of come before it.
std::vector<GivenRelation> in_order(std::vector<GivenRelation> relations) {
    std::vector<GivenRelation> ordered;
    const auto has = [&](const std::string& name) {
        return name.empty() || std::any_of(ordered.begin(), ordered.end(),
                                           [&](const GivenRelation& known) { return known.request.name == name; });
    };
    while (!relations.empty()) {
        const auto next = std::find_if(relations.begin(), relations.end(),
                                       [&](const GivenRelation& relation) { return has(relation.request.of); });
        const auto taken = next == relations.end() ? relations.begin() : next;
        ordered.push_back(std::move(*taken));
        relations.erase(taken);
    }
    return ordered;
}

std::vector<GivenRelation> read_relations(const NamedArguments& arguments) {
    std::vector<GivenRelation> relations;
    if (arguments.is_null("relations")) return relations;
    for (const JsonOption& option : json_options(json_text(arguments.datum("relations")), "relations", relations_hint))
        relations.push_back(read_relation(option));
    return in_order(std::move(relations));
}

std::string listed(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return list;
}

void tell_timeless(const std::vector<SeveralTimes>& timeless) {
    std::vector<std::string> names;
    for (const SeveralTimes& relation : timeless)
        names.push_back(relation.relations.front() +
                        (relation.times.empty() ? "" : " (of several times: " + listed(relation.times) + ")"));
    notice("relations without a time count whole: " + listed(names),
           "Their rows may know what came after the time of a prediction.",
           "Name their time, leave them out, or say that it is meant, as in relations => '{\"" +
               timeless.front().relations.front() + "\": {\"time\": null}}'.");
}

void tell(const PlanRemarks& remarks) {
    if (!remarks.timeless.empty()) tell_timeless(remarks.timeless);
    for (const SeveralTimes& left_out : remarks.several_times)
        notice("relations are left out, as they have several times (" + listed(left_out.times) +
                   "): " + listed(left_out.relations),
               "What lies behind them is left out, too.",
               "Name the time from which all that is used of a row is known, as in relations => '{\"" +
                   left_out.relations.front() + "\": {\"time\": \"" + left_out.times.front() + "\"}}'.");
    if (!remarks.other_zones.empty())
        notice("relations whose times have a time zone, or none, unlike as_of, are left out: " +
                   listed(remarks.other_zones),
               "", "Cast as_of in the source, or their times in a view.");
    if (!remarks.farther.empty())
        notice("tables beyond max_depth are left out: " + listed(remarks.farther), "",
               "Take a greater max_depth to have them.");
    if (remarks.is_cut)
        notice(format("foreign keys lead to more than %zu relations, the nearest are taken", max_found_relations), "",
               "Take a smaller max_depth, leave relations out by false, or name those that are wanted.");
    if (!remarks.unread.empty())
        notice("tables whose keys or times you may not read are left out: " + listed(remarks.unread));
}

// Checks what must hold of the source's rows before features are made of them. Returns the greatest as_of in seconds
// since 1970, as text: rows after it must not choose the features.
std::string check_rows(const Source& source, const std::string& as_of, const std::optional<std::string>& target,
                       const std::optional<std::string>& holdout, RunContext& context) {
    const auto count_of = [](const std::string& expression) { return ", count(" + expression + ")::text"; };
    const std::vector<TextRow> rows =
        text_rows("SELECT count(*)::text" + count_of(as_of.empty() ? "1" : quoted_name(as_of)) +
                      count_of(target ? quoted_name(*target) : "1") +
                      count_of(holdout ? "nullif(" + quoted_name(*holdout) + ", false)" : "1") +
                      (as_of.empty() ? ", ''" : ", extract(epoch FROM max(" + quoted_name(as_of) + "))::text") +
                      " FROM (\n" + source.analysis().text + "\n) AS source",
                  "checking rows", context);
    const auto number = [&](size_t i) { return std::stoull(rows.front()[i]); };
    const uint64_t all = number(0), with_target = number(2), held = number(3);
    if (all == 0) throw Error(ErrorCode::invalid_argument, "source has no rows");
    if (const uint64_t missing = all - number(1); missing > 0)
        throw Error(ErrorCode::null_value,
                    format("as_of \"%s\" is NULL in %" PRIu64 " of %" PRIu64 " rows", as_of.c_str(), missing, all), "",
                    "Leave such rows out by WHERE … IS NOT NULL.");
    if (target && with_target < min_target_rows)
        throw Error(ErrorCode::invalid_argument,
                    format("target \"%s\" has values in %" PRIu64 " rows, features are chosen by %" PRIu64 " at least",
                           target->c_str(), with_target, min_target_rows),
                    "", "Without a target all features are kept.");
    if (holdout && (held == 0 || held == all))
        throw Error(ErrorCode::invalid_argument,
                    format("holdout \"%s\" is true in %s row", holdout->c_str(), held == 0 ? "no" : "every"));
    return rows.front()[4];
}

Datum plan_datum(const Plan& plan, RunContext& context) {
    const Buffer<char> json = to_json(plan, context);
    const std::string text(json.data(), json.size());
    const char* const source = text.c_str();
    return pg_call([=] { return DirectFunctionCall1(jsonb_in, CStringGetDatum(source)); });
}

// Finds all candidates, and tells what a user should know of them.
Plan find_candidates(const NamedArguments& arguments, const Source& source, const Options& options,
                     const std::optional<std::string>& target, const std::optional<std::string>& holdout,
                     RunContext& context) {
    CandidateRequest request;
    request.as_of = arguments.optional_column("as_of").value_or("");
    request.inclusive = options.inclusive;
    request.max_depth = options.max_depth;
    request.windows = read_windows(arguments);
    if (!request.as_of.empty()) {
        const Source::Column& as_of = source.columns()[static_cast<size_t>(source.column(request.as_of))];
        request.as_of_type = require_time(as_of);
    }
    std::vector<GivenRelation> named = read_relations(arguments);
    std::vector<std::string> tables;
    for (const GivenRelation& relation : named) tables.push_back(relation.table);
    const std::vector<int> numbers = read_catalogue(source, tables, request, context);
    for (size_t i = 0; i < named.size(); i++) {
        named[i].request.table = numbers[i];
        request.relations.push_back(std::move(named[i].request));
    }
    const std::string last = check_rows(source, request.as_of, target, holdout, context);
    answer_by_queries(request, last, context);
    PlanRemarks remarks;
    Plan plan = candidate_plan(request, remarks);
    tell(remarks);
    return plan;
}

// Refuses columns that begin with btml_, as those of the SELECTs that choose features do.
void require_own_names(const Source& source) {
    for (const Source::Column& column : source.columns())
        if (column.name.starts_with("btml_"))
            throw Error(
                ErrorCode::invalid_argument,
                format("source has a column \"%s\", names that begin with btml_ are taken", column.name.c_str()), "",
                "Give it another name.");
}

[[noreturn]] void refuse_empty(const NamedArguments& arguments) {
    const bool is_found = arguments.is_null("relations");
    throw Error(ErrorCode::invalid_argument, "no features are found for the source",
                is_found ? "No foreign key leads from the source's columns to a table that may be read and has one "
                           "time of as_of's kind, or none."
                         : "No column of the relations is of use.",
                is_found ? no_key_hint : "");
}

} // namespace

// btml.relational_features(source text, target name, as_of name, relations json, windows interval[], …) → jsonb
BTML_FUNCTION(btml_relational_features) {
    const NamedArguments arguments(fcinfo);
    const GivenSource given = given_source(arguments);
    Options options{.has_target = !arguments.is_null("target"),
                    .has_as_of = !arguments.is_null("as_of"),
                    .has_windows = !arguments.is_null("windows"),
                    .has_holdout = !arguments.is_null("holdout")};
    read_options(arguments, options_table, options);
    options_table.check(options);
    BackendContext context("relational_features");
    const Source source = Source::of_rows(given);
    source.require_distinct_names();
    const std::optional<std::string> target = arguments.optional_column("target"),
                                     holdout = arguments.optional_column("holdout");
    if (target) source.column(*target);
    if (target && target == holdout)
        throw Error(ErrorCode::invalid_argument,
                    format("column \"%s\" cannot be both the target and the holdout", target->c_str()));
    if (holdout) require_boolean(source.columns()[static_cast<size_t>(source.column(*holdout))], "holdout");
    require_own_names(source);
    Plan plan = find_candidates(arguments, source, options, target, holdout, context);
    if (plan.features.empty()) refuse_empty(arguments);
    if (plan.as_of.empty() && std::any_of(plan.relations.begin(), plan.relations.end(),
                                          [](const features::Relation& relation) { return !relation.time.empty(); }))
        notice("without as_of all rows count, those after the time of a prediction, too", "",
               "Name the source's column of times as as_of.");
    // Refuses now what the SELECT of features would refuse.
    feature_sql_over(Plan{.as_of = plan.as_of, .relations = plan.relations}, source, context);
    if (target) select_features(plan, {source, *target, holdout, options}, context);
    if (plan.features.empty())
        notice("no feature tells more of the target than the source's own columns", "", "The plan is empty.");
    return plan_datum(plan, context);
}

// btml.feature_sql(plan json, source text) → text
BTML_FUNCTION(btml_feature_sql) {
    const NamedArguments arguments(fcinfo);
    BackendContext context;
    const Plan plan = parse_plan(json_text(arguments.datum("plan")), context);
    const Source source = Source::of_rows(given_source(arguments));
    check_windows(plan);
    return text_datum(feature_sql_over(plan, source, context));
}

// btml.feature_list(plan json) → table(name text, definition text, gain float8, path text, column_name text,
// aggregate text, window_length text)
BTML_FUNCTION(btml_feature_list) {
    const Arguments arguments(fcinfo);
    BackendContext context;
    ResultRows rows(fcinfo);
    const Plan plan = parse_plan(json_text(arguments.datum(0, "plan")), context);
    const auto text_or_null = [](const std::string& value) { return null_if(value.empty(), value); };
    for (const Definition& feature : plan.features)
        rows.add_row(feature.name, plan.words(feature), feature.gain, plan.path(feature.relation),
                     text_or_null(feature.column), std::string(facts_of(feature.aggregate).name),
                     text_or_null(feature.window));
    return rows.done();
}

} // namespace btml::pg
