#include "pg/source/fit_arguments.hpp"

namespace btml::pg {

namespace {

[[noreturn]] void refuse(const JsonOption& given, const char* valid) {
    throw Error(ErrorCode::invalid_argument,
                format("invalid value for option \"%s\": %s", given.name.c_str(),
                       given.is_nested || given.number || given.boolean ? given.text.c_str()
                                                                        : ('"' + given.text + '"').c_str()),
                "", valid);
}

bool is_string(const JsonOption& given) {
    return !given.is_null && !given.is_nested && !given.number && !given.boolean;
}

std::string column_of(const JsonOption& given) {
    if (!is_string(given)) refuse(given, "Valid values are names of columns, in quotes.");
    return given.text;
}

std::vector<std::string> columns_of(const JsonOption& given) {
    std::optional<std::vector<JsonOption>> elements;
    if (given.is_nested) elements = json_elements(given.text, given.name);
    if (!elements || !std::all_of(elements->begin(), elements->end(), is_string))
        refuse(given, "Valid values are arrays of names of columns.");
    std::vector<std::string> columns;
    for (JsonOption& element : *elements) columns.push_back(std::move(element.text));
    return columns;
}

const std::string& text_of(const std::string& value) {
    return value;
}

std::string text_of(const std::vector<std::string>& columns) {
    return quoted_list(columns);
}

} // namespace

void refuse_threads(const std::string& name) {
    static constexpr std::string_view names[] = {"num_threads", "num_thread", "n_threads", "nthreads",     "nthread",
                                                 "n_jobs",      "threads",    "njobs",     "thread_count", "n_thread"};
    if (std::find(std::begin(names), std::end(names), name) != std::end(names))
        throw Error(ErrorCode::invalid_argument, format("unknown option \"%s\"", name.c_str()),
                    "The number of threads is a setting, not an option.", "Use SET btml.threads.");
}

FitArguments::FitArguments(const NamedArguments& call, std::initializer_list<std::string_view> apart)
    : call_(call), apart_(apart) {
    if (call.has("options") && !call.is_null("options")) given_ = json_options(json_text(call.datum("options")));
}

const JsonOption* FitArguments::find(std::string_view name) const {
    for (const JsonOption& given : given_)
        if (given.name == name) return &given;
    return nullptr;
}

void FitArguments::refuse_two_values(const char* name, const std::string& argument, const std::string& member) {
    throw Error(ErrorCode::invalid_argument, format("%s has two values", name),
                format("Its argument's is %s, its option's is %s.", argument.c_str(), member.c_str()),
                format("Give %s once.", name));
}

bool FitArguments::is_given(const char* name) const {
    return call_.has(name) && !call_.is_null(name);
}

template <class Of>
auto FitArguments::member(const char* name, const Of& of) const -> std::optional<decltype(of(JsonOption()))> {
    const JsonOption* const given = find(name);
    if (!given || given->is_null) return std::nullopt;
    return of(*given);
}

template <class T>
std::optional<T> FitArguments::one_of(const char* name, std::optional<T> argument, std::optional<T> member) {
    if (argument && member && *argument != *member) refuse_two_values(name, text_of(*argument), text_of(*member));
    return argument ? argument : member;
}

std::optional<std::string> FitArguments::column(const char* name) const {
    return one_of(name, call_.optional_column(name), member(name, column_of));
}

std::optional<std::vector<std::string>> FitArguments::columns(const char* name) const {
    return one_of(name, call_.optional_columns(name), member(name, columns_of));
}

std::optional<std::string> FitArguments::text(const char* name) const {
    return one_of(name, is_given(name) ? std::optional(call_.string(name)) : std::nullopt,
                  member(name, [](const JsonOption& given) { return given.text; }));
}

std::optional<std::string> FitArguments::source(const char* name) const {
    const JsonOption* const given = find(name);
    if (given && !given->is_null && !is_string(*given))
        refuse(*given, "Valid values are tables, views and SELECTs, in quotes.");
    return text(name);
}

std::optional<std::string> FitArguments::json(const char* name, const char* valid) const {
    return one_of(name, is_given(name) ? std::optional(json_text(call_.datum(name))) : std::nullopt,
                  member(name, [=](const JsonOption& given) { return given.json(valid); }));
}

bool FitArguments::boolean(const char* name) const {
    const bool argument = call_.has(name) && call_.boolean(name);
    const JsonOption* const given = find(name);
    if (!given) return argument;
    if (!given->boolean) refuse(*given, "Valid values are true and false.");
    if (argument && !*given->boolean) refuse_two_values(name, "true", "false");
    return *given->boolean;
}

} // namespace btml::pg
