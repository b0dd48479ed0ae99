// Options between SQL and their tables: from a function's arguments, from a JSON object, into a summary.
#pragma once

#include "core/base/options_table.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/json.hpp"

namespace btml::pg {

// The argument that is named as the option. Error null_value for a NULL that it cannot be.
OptionValue option_value(const NamedArguments& arguments, const OptionFacts& option);

// Sets the options that the function has arguments for. Error invalid_argument naming the option and its valid values.
template <class Options>
void read_options(const NamedArguments& arguments, const OptionsTable<Options>& table, Options& options) {
    for (const Option<Options>& option : table)
        if (option.get && arguments.has(option.name)) table.assign(options, option, option_value(arguments, option));
}

// One option of a JSON object.
struct JsonOption {
    std::string name;
    std::optional<double> number; // where its value is one
    std::optional<bool> boolean;
    std::string text; // where its value is an object or array: as JSON
    bool is_null = false;
    bool is_nested = false;

    // Returns NULL for null where the option may be it. Error invalid_argument for a value of another type.
    OptionValue value(const OptionFacts& option) const;
    // Returns the text of an object or an array. Error invalid_argument with what is valid as its HINT for others.
    const std::string& json(const char* valid) const;
};

// A jsonb as text.
std::string json_text(Datum json);

// The members of a JSON object, given as text; `what` is what the error invalid_argument for any other JSON calls it,
// and `hint` is its HINT.
std::vector<JsonOption> json_options(const std::string& json, const char* what = "options", const char* hint = "");

// The elements of a JSON array, given as text, as options of this name; nothing for any other JSON.
std::optional<std::vector<JsonOption>> json_elements(const std::string& json, const std::string& name);

// Error invalid_argument with the valid names in the DETAIL and the nearest in the HINT.
[[noreturn]] void unknown_option(const std::string& name, const std::vector<std::string>& names,
                                 ForeignNames foreign = {});

// Options of an aggregate: a JSON object with the names of a function's arguments. read_argument(given) reads one that
// is an argument of the table and says whether it did. Errors invalid_argument.
template <class Options, class ReadArgument>
Options parse_options(const std::string& json, const OptionsTable<Options>& table, const ReadArgument& read_argument) {
    Options options;
    for (const JsonOption& given : json_options(json)) {
        const Option<Options>* const option = table.find(given.name);
        if (option && option->aggregated) {
            table.assign(options, *option, given.value(*option));
            continue;
        }
        if (read_argument(given)) continue;
        std::vector<std::string> names;
        for (const Option<Options>& known : table)
            if (known.aggregated) names.emplace_back(known.name);
        unknown_option(given.name, names, table.foreign_names);
    }
    return options;
}
template <class Options>
Options parse_options(const std::string& json, const OptionsTable<Options>& table) {
    return parse_options(json, table, [](const JsonOption&) { return false; });
}

// Writes NULL as null.
void add_option(JsonWriter& json, std::string_view name, const OptionValue& value);

// Writes the options of a model that are not NULL and matter.
template <class Options>
void add_options(JsonWriter& json, const OptionsTable<Options>& table, const Options& options) {
    for (const Option<Options>& option : table)
        if (option.stored && (!option.matters || option.matters(options)))
            if (const OptionValue value = option.get(options, option); value.index() != 0)
                add_option(json, option.name, value);
}

} // namespace btml::pg
