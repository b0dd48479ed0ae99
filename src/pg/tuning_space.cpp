#include "pg/tuning_space.hpp"

#include <set>

namespace btml::pg {

using validation::Dimension;

namespace {

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
    static constexpr std::string_view names[] = {"trees", "early_stopping", "metric", "holdout", "exclude", "verbose"};
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

void add_given(JsonWriter& json, const JsonOption& given) {
    if (given.is_null || given.number || given.boolean || given.is_nested)
        json.add_json(given.name, given.text);
    else
        json.add(given.name, given.text);
}

// The column of folds would be a feature otherwise. Rows held out stay so: whoever trains on them says it.
void add_columns(JsonWriter& json, const TrainingRequest& request) {
    if (request.holdout) json.add("holdout", *request.holdout);
    std::vector<std::string> columns = request.exclude;
    if (!request.features && request.fold && std::find(columns.begin(), columns.end(), *request.fold) == columns.end())
        columns.push_back(*request.fold);
    if (columns.empty()) return;
    json.begin_array("exclude");
    for (const std::string& column : columns) json.add_item(std::string_view(column));
    json.end_array();
}

} // namespace

void refuse_to_tune(const std::string& name) {
    throw Error(ErrorCode::invalid_argument, format("option \"%s\" cannot be tuned", name.c_str()),
                "All trials have the same columns, rows, objective, metric, deviation and seed.",
                "Give it in options.");
}

void refuse_given_and_tuned(const std::string& name) {
    throw Error(ErrorCode::invalid_argument, format("option \"%s\" is both in options and in space", name.c_str()));
}

std::vector<JsonOption> space_members(const NamedArguments& call) {
    std::vector<JsonOption> members = json_options(json_text(call.datum("space")), "space");
    if (members.empty())
        throw Error(ErrorCode::invalid_argument, "space has no options", "",
                    "Give values for some, as {\"max_leaves\": [15, 31, 63]}.");
    return members;
}

Dimension read_dimension(const JsonOption& given, const OptionFacts& option) {
    if (!given.is_nested) refuse(given, "is neither a list nor a range", two_forms);
    const std::optional<std::vector<JsonOption>> elements = json_elements(given.text, given.name);
    Dimension dimension = elements ? read_list(given, option, *elements) : read_range(given, option);
    check(dimension);
    return dimension;
}

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

} // namespace btml::pg
