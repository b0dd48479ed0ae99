// btml.relational_features, btml.feature_sql, btml.feature_list: features of things from the tables around them.
#include "pg/bridge/backend_context.hpp"
#include "pg/features_catalogue.hpp"
#include "pg/features_selection.hpp"
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
    R"(It is an object by name of relation, as in {"calls": {"table": "call", "key": {"customer_id": "customer_id"}, "time": "at"}}.)";

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

// Returns the windows as texts, each once; "" for NULL, which is all rows.
std::vector<std::string> read_windows(const NamedArguments& arguments) {
    const Datum value = arguments.datum("windows");
    ArrayType* const array = pg_call([=] { return DatumGetArrayTypeP(value); });
    require_one_dimension(array, "windows");
    struct Elements {
        Datum* values;
        bool* nulls;
        int count;
    };
    const Elements elements = pg_call([=] {
        Elements found = {};
        deconstruct_array(array, INTERVALOID, sizeof(Interval), false, TYPALIGN_DOUBLE, &found.values, &found.nulls,
                          &found.count);
        return found;
    });
    std::vector<std::string> windows;
    for (int i = 0; i < elements.count; i++) {
        std::string window;
        if (!elements.nulls[i]) {
            const Interval& interval = *DatumGetIntervalP(elements.values[i]);
            window = interval_text(interval);
            if (interval.month < 0 || interval.day < 0 || interval.time < 0 || window.empty())
                throw Error(ErrorCode::invalid_argument, "windows must be positive intervals, or NULL for all rows",
                            window.empty() ? "One is empty." : "One is \"" + window + "\".");
        }
        if (std::find(windows.begin(), windows.end(), window) == windows.end()) windows.push_back(window);
    }
    if (windows.empty())
        throw Error(ErrorCode::invalid_argument, "windows must not be empty", "",
                    "NULL as an element stands for all rows.");
    return windows;
}

[[noreturn]] void refuse_relation(const std::string& name, const std::string& fault) {
    throw Error(ErrorCode::invalid_argument, format("relation \"%s\" %s", name.c_str(), fault.c_str()), "",
                relations_hint);
}

// One relation of the argument "relations", and its table's name.
struct NamedRelation {
    RelationRequest request;
    std::string table = {};
};

std::vector<std::string> texts_of(const JsonOption& option, const std::string& relation) {
    std::vector<std::string> texts;
    const auto elements = json_elements(option.is_nested ? option.text : "{}", option.name);
    if (!elements) refuse_relation(relation, "has \"columns\" that are no array");
    for (const JsonOption& element : *elements) texts.push_back(element.text);
    return texts;
}

NamedRelation read_relation(const JsonOption& given) {
    NamedRelation relation{.request = {.name = given.name}};
    RelationRequest& request = relation.request;
    if (given.boolean == false) {
        request.left_out = true;
        return relation;
    }
    if (!given.is_nested) refuse_relation(given.name, "must be an object, or false to be left out");
    for (const JsonOption& option :
         json_options(given.text, ("relation \"" + given.name + "\"").c_str(), relations_hint)) {
        if (option.name == "table")
            relation.table = option.text;
        else if (option.name == "of")
            request.of = option.text;
        else if (option.name == "key")
            for (const JsonOption& pair : json_options(option.is_nested ? option.text : "[]", "a key", relations_hint))
                request.key.push_back({pair.name, pair.text});
        else if (option.name == "time")
            request.time = option.is_null ? "" : option.text;
        else if (option.name == "columns")
            request.columns = texts_of(option, given.name);
        else if (option.name == "last" && option.boolean)
            request.last = *option.boolean;
        else
            refuse_relation(given.name,
                            "has \"" + option.name +
                                "\", not one of \"table\", \"key\", \"of\", \"time\", \"columns\", \"last\"");
    }
    const bool is_found = relation.table.empty();
    if (is_found != request.key.empty() || (is_found && (!request.of.empty() || request.last)))
        refuse_relation(given.name, "needs a table and a key, or neither");
    return relation;
}

// Relations come by name from a jsonb, and one may be of another: those it is of come before it.
std::vector<NamedRelation> in_order(std::vector<NamedRelation> relations) {
    std::vector<NamedRelation> ordered;
    const auto has = [&](const std::string& name) {
        return name.empty() || std::any_of(ordered.begin(), ordered.end(),
                                           [&](const NamedRelation& known) { return known.request.name == name; });
    };
    while (!relations.empty()) {
        const auto next = std::find_if(relations.begin(), relations.end(),
                                       [&](const NamedRelation& relation) { return has(relation.request.of); });
        const auto taken = next == relations.end() ? relations.begin() : next;
        ordered.push_back(std::move(*taken));
        relations.erase(taken);
    }
    return ordered;
}

std::vector<NamedRelation> read_relations(const NamedArguments& arguments) {
    std::vector<NamedRelation> relations;
    if (arguments.is_null("relations")) return relations;
    for (const JsonOption& option : json_options(json_text(arguments.datum("relations")), "relations", relations_hint))
        relations.push_back(read_relation(option));
    return in_order(std::move(relations));
}

// border: of the rows that count, what their time is less than; empty for all.
TextValues text_values(const CatalogueTable& table, const std::string& column, const std::string& border,
                       RunContext& context) {
    constexpr int most = 3;
    const std::string name = quoted(column);
    const std::vector<TextRow> rows =
        text_rows("SELECT value, n::text, (count(*) OVER ())::text FROM (SELECT " + name +
                      "::text COLLATE \"C\" AS value, count(*) AS n FROM " + quoted(table.schema) + "." +
                      quoted(table.name) + " WHERE " + name + " IS NOT NULL" + border +
                      " GROUP BY 1) AS c ORDER BY c.n DESC, c.value LIMIT " + std::to_string(most),
                  context);
    TextValues values;
    for (const TextRow& row : rows) {
        values.distinct = std::stoull(row[2]);
        if (row[1] != "1" && !row[0].empty()) values.most_frequent.push_back(row[0]);
    }
    return values;
}

std::string listed(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return list;
}

void tell(const PlanRemarks& remarks) {
    if (!remarks.timeless.empty())
        notice("relations without a time count whole: " + listed(remarks.timeless),
               "Their rows may know what came after the time of a prediction.",
               "Name their time, as in relations => '{\"" + remarks.timeless.front() +
                   "\": {\"time\": \"created_at\"}}', or leave them out by false.");
    if (!remarks.many_times.empty())
        notice("tables with several dates or timestamps are left out: " + listed(remarks.many_times), "",
               "Name the one that says since when a row is known, as in relations => '{\"" +
                   remarks.many_times.front() + "\": {\"time\": \"created_at\"}}'.");
    if (remarks.is_cut)
        notice(format("foreign keys lead to more than %zu relations, the nearest are taken", max_found_relations), "",
               "Take a smaller max_depth, leave relations out by false, or name those that are wanted.");
    if (!remarks.unread.empty())
        notice("tables whose keys or times you may not read are left out: " + listed(remarks.unread));
}

// What must hold of the source's rows before features are made of them.
void check_rows(const Source& source, const std::string& as_of, const std::optional<std::string>& target,
                const std::optional<std::string>& holdout, RunContext& context) {
    const auto count_of = [](const std::string& expression) { return ", count(" + expression + ")::text"; };
    const std::vector<TextRow> rows =
        text_rows("SELECT count(*)::text" + count_of(as_of.empty() ? "1" : quoted(as_of)) +
                      count_of(target ? quoted(*target) : "1") +
                      count_of(holdout ? "nullif(" + quoted(*holdout) + ", false)" : "1") + " FROM (\n" +
                      source.analysis().text + "\n) AS source",
                  context);
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
}

// The greatest as_of as text; what comes after it does not say which features there are.
std::string last_time(const Source& source, const std::string& as_of, RunContext& context) {
    if (as_of.empty()) return "";
    return text_rows("SELECT max(" + quoted(as_of) + ")::text FROM (\n" + source.analysis().text + "\n) AS source",
                     context)
        .front()
        .front();
}

Datum plan_datum(const Plan& plan, RunContext& context) {
    const Buffer<char> json = to_json(plan, context);
    const std::string text(json.data(), json.size());
    const char* const source = text.c_str();
    return pg_call([=] { return DirectFunctionCall1(jsonb_in, CStringGetDatum(source)); });
}

// Finds all candidates.
Plan find_candidates(const NamedArguments& arguments, const Source& source, const Options& options,
                     RunContext& context) {
    CandidateRequest request;
    request.as_of = arguments.optional_column("as_of").value_or("");
    request.inclusive = options.inclusive;
    request.max_depth = options.max_depth;
    request.windows = read_windows(arguments);
    if (!request.as_of.empty()) {
        const Source::Column& as_of = source.columns()[static_cast<size_t>(source.column(request.as_of))];
        request.as_of_type = time_type_of(as_of.type);
    }
    std::vector<NamedRelation> named = read_relations(arguments);
    std::vector<std::string> tables;
    for (const NamedRelation& relation : named) tables.push_back(relation.table);
    const std::vector<int> numbers = read_catalogue(source, tables, request, context);
    for (size_t i = 0; i < named.size(); i++) {
        named[i].request.table = numbers[i];
        request.relations.push_back(std::move(named[i].request));
    }
    const std::string last = last_time(source, request.as_of, context);
    request.text_values = [&](int table, const std::string& column, const std::string& time) {
        const std::string border = time.empty() || last.empty() ? "" : " AND " + quoted(time) + " < " + literal(last);
        return text_values(request.tables[static_cast<size_t>(table)], column, border, context);
    };
    PlanRemarks remarks;
    Plan plan = candidate_plan(request, remarks);
    tell(remarks);
    return plan;
}

[[noreturn]] void refuse_empty(const NamedArguments& arguments) {
    throw Error(ErrorCode::invalid_argument, "no table of rows is found for the source",
                arguments.is_null("relations")
                    ? "No foreign key leads from the source's columns to a table that may be read."
                    : "",
                relations_hint);
}

} // namespace

// btml.relational_features(source text, target name, as_of name, relations json, windows interval[], …) → jsonb
BTML_FUNCTION(btml_relational_features) {
    const NamedArguments arguments(fcinfo);
    const std::string text = arguments.string("source");
    Options options;
    read_options(arguments, options_table, options);
    BackendContext context("relational_features");
    const Source source = Source::of_rows(text);
    source.require_distinct_names();
    const std::optional<std::string> target = arguments.optional_column("target"),
                                     holdout = arguments.optional_column("holdout");
    if (target) source.column(*target);
    if (holdout) require_boolean(source.columns()[static_cast<size_t>(source.column(*holdout))], "holdout");
    Plan plan = find_candidates(arguments, source, options, context);
    if (plan.features.empty()) refuse_empty(arguments);
    feature_sql_over(Plan{.as_of = plan.as_of, .relations = plan.relations}, source, context);
    check_rows(source, plan.as_of, target, holdout, context);
    if (target) select_features(plan, {source, *target, holdout, options}, context);
    return plan_datum(plan, context);
}

// btml.feature_sql(plan json, source text) → text
BTML_FUNCTION(btml_feature_sql) {
    const Arguments arguments(fcinfo);
    BackendContext context;
    const Plan plan = parse_plan(json_text(arguments.datum(0, "plan")), context);
    const Source source = Source::of_rows(arguments.string(1, "source"));
    require_unique_keys(plan, context);
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
