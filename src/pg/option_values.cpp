#include "pg/option_values.hpp"

#include <charconv>

#include "pg/bridge/guard.hpp"

extern "C" {
#include "utils/jsonb.h"
#include "utils/numeric.h"
}

namespace btml::pg {

// The one of `choices` that a text option names.
size_t choice(const std::string& value, const char* option, const std::vector<std::string>& choices) {
    for (size_t i = 0; i < choices.size(); i++)
        if (choices[i] == value) return i;
    throw Error(ErrorCode::invalid_argument, format("invalid value for option \"%s\": \"%s\"", option, value.c_str()),
                "", "Valid values are " + quoted_list(choices) + ".");
}

namespace {

struct JsonCursor {
    JsonbIterator* iterator;
    JsonbValue value;
};

[[noreturn]] void invalid_option(const JsonOption& option, const char* valid) {
    const std::string value = option.number ? option.text : "\"" + option.text + "\"";
    throw Error(ErrorCode::invalid_argument,
                format("invalid value for option \"%s\": %s", option.name.c_str(), value.c_str()), "", valid);
}

} // namespace

std::vector<JsonOption> json_options(const std::string& json) {
    const char* const source = json.c_str();
    std::vector<JsonOption> options;
    JsonCursor cursor;
    const bool is_object = pg_call([&] {
        Jsonb* const parsed = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(source)));
        cursor.iterator = JsonbIteratorInit(&parsed->root);
        return JsonbIteratorNext(&cursor.iterator, &cursor.value, true) == WJB_BEGIN_OBJECT;
    });
    if (!is_object) throw Error(ErrorCode::invalid_argument, "options must be a JSON object", "It is " + json + ".");
    const auto next = [&] { return pg_call([&] { return JsonbIteratorNext(&cursor.iterator, &cursor.value, true); }); };
    while (next() == WJB_KEY) {
        JsonOption option{{cursor.value.val.string.val, static_cast<size_t>(cursor.value.val.string.len)}, {}, "null"};
        next();
        const JsonbValue& value = cursor.value;
        if (value.type == jbvNumeric) {
            option.number = pg_call([&] {
                return DatumGetFloat8(
                    DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(value.val.numeric)));
            });
            option.text = pg_call(
                [&] { return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value.val.numeric))); });
        } else if (value.type == jbvString)
            option.text.assign(value.val.string.val, static_cast<size_t>(value.val.string.len));
        else if (value.type == jbvBool)
            option.text = value.val.boolean ? "true" : "false";
        else if (value.type == jbvBinary)
            option.text = "an array or object";
        options.push_back(std::move(option));
    }
    return options;
}

double number_of(const JsonOption& option) {
    if (!option.number) invalid_option(option, "Valid values are numbers.");
    return *option.number;
}

template <class Integer>
Integer integer_of(const JsonOption& option) {
    number_of(option);
    Integer value{};
    const char* const last = option.text.data() + option.text.size();
    const auto [end, error] = std::from_chars(option.text.data(), last, value);
    const bool whole = end == last || (*end == '.' && std::all_of(end + 1, last, [](char c) { return c == '0'; }));
    if (error != std::errc() || !whole) invalid_option(option, "Valid values are integers.");
    return value;
}

template int integer_of<int>(const JsonOption& option);
template int64_t integer_of<int64_t>(const JsonOption& option);

void unknown_option(const JsonOption& option, const std::vector<std::string>& names) {
    const std::string nearest = nearest_name(option.name, names);
    throw Error(ErrorCode::invalid_argument, format("unknown option \"%s\"", option.name.c_str()),
                "Valid options are " + quoted_list(names) + ".",
                nearest.empty() ? "" : format("Perhaps you meant \"%s\".", nearest.c_str()));
}

} // namespace btml::pg
