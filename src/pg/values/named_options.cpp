#include "pg/values/named_options.hpp"

extern "C" {
#include "utils/jsonb.h"
#include "utils/numeric.h"
}

namespace btml::pg {

constexpr const char* no_integer = "Valid values are integers.";

[[noreturn]] static void refuse_value(const std::string& name, const std::string& value, const char* valid) {
    throw Error(ErrorCode::invalid_argument, format("invalid value for option \"%s\": %s", name.c_str(), value.c_str()),
                "", valid);
}

static int64_t integer_of(const char* option, const std::string& text) {
    const std::optional<int64> integer = whole_number(text);
    if (!integer) refuse_value(option, text, no_integer);
    return *integer;
}

OptionValue option_value(const NamedArguments& arguments, const OptionFacts& option) {
    if (option.nullable && arguments.is_null(option.name)) return {};
    const Datum value = arguments.datum(option.name);
    switch (arguments.type(option.name)) {
    case BOOLOID:
        return DatumGetBool(value);
    case NUMERICOID: // to which integers of every type are cast
        return integer_of(option.name, text_of_numeric(value));
    case FLOAT8OID:
        return DatumGetFloat8(value);
    default:
        return arguments.string(option.name);
    }
}

namespace {

struct JsonCursor {
    JsonbIterator* iterator;
    JsonbValue value;
};

[[noreturn]] void invalid_option(const JsonOption& option, const char* valid) {
    const std::string value = option.number      ? option.text
                              : option.is_nested ? "\"an array or object\""
                                                 : "\"" + option.text + "\"";
    refuse_value(option.name, value, valid);
}

} // namespace

std::string json_text(Datum json) {
    return pg_call([=] {
        Jsonb* const value = DatumGetJsonbP(json);
        return JsonbToCString(nullptr, &value->root, static_cast<int>(VARSIZE(value)));
    });
}

static JsonOption option_of(std::string name, const JsonbValue& value) {
    JsonOption option{std::move(name), {}, {}, "null"};
    option.is_null = value.type == jbvNull;
    if (value.type == jbvNumeric) {
        option.number = pg_call([&] {
            return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(value.val.numeric)));
        });
        option.text = text_of_numeric(NumericGetDatum(value.val.numeric));
    } else if (value.type == jbvString)
        option.text.assign(value.val.string.val, static_cast<size_t>(value.val.string.len));
    else if (value.type == jbvBool)
        option.text = value.val.boolean ? "true" : "false", option.boolean = value.val.boolean;
    else if (value.type == jbvBinary) {
        option.is_nested = true;
        option.text = pg_call(
            [&] { return JsonbToCString(nullptr, value.val.binary.data, static_cast<int>(value.val.binary.len)); });
    }
    return option;
}

// Steps into a JSON object or array, given as text, and says which of them it is.
static JsonbIteratorToken enter(const std::string& json, JsonCursor& cursor) {
    const char* const source = json.c_str();
    return pg_call([&] {
        Jsonb* const parsed = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(source)));
        cursor.iterator = JsonbIteratorInit(&parsed->root);
        const JsonbIteratorToken token = JsonbIteratorNext(&cursor.iterator, &cursor.value, true);
        return token == WJB_BEGIN_ARRAY && cursor.value.val.array.rawScalar ? WJB_VALUE : token;
    });
}

static JsonbIteratorToken next(JsonCursor& cursor) {
    return pg_call([&] { return JsonbIteratorNext(&cursor.iterator, &cursor.value, true); });
}

std::vector<JsonOption> json_options(const std::string& json, const char* what, const char* hint) {
    std::vector<JsonOption> options;
    JsonCursor cursor;
    if (enter(json, cursor) != WJB_BEGIN_OBJECT)
        throw Error(ErrorCode::invalid_argument, format("%s must be a JSON object", what), "It is " + json + ".", hint);
    while (next(cursor) == WJB_KEY) {
        std::string name(cursor.value.val.string.val, static_cast<size_t>(cursor.value.val.string.len));
        next(cursor);
        options.push_back(option_of(std::move(name), cursor.value));
    }
    return options;
}

std::optional<std::vector<JsonOption>> json_elements(const std::string& json, const std::string& name) {
    JsonCursor cursor;
    if (enter(json, cursor) != WJB_BEGIN_ARRAY) return {};
    std::vector<JsonOption> elements;
    while (next(cursor) == WJB_ELEM) elements.push_back(option_of(name, cursor.value));
    return elements;
}

const std::string& JsonOption::json(const char* valid) const {
    if (!is_nested) invalid_option(*this, valid);
    return text;
}

OptionValue JsonOption::value(const OptionFacts& option) const {
    if (is_null && option.nullable) return {};
    if (option.type == OptionType::choice) return is_nested ? "an array or object" : text;
    if (option.type == OptionType::boolean) {
        if (!boolean) invalid_option(*this, "Valid values are true and false.");
        return *boolean;
    }
    if (!number) invalid_option(*this, "Valid values are numbers.");
    if (option.type == OptionType::number) return *number;
    const int64_t integer = integer_of(name.c_str(), text);
    if (integer > option.max_integer) invalid_option(*this, no_integer);
    return integer;
}

void unknown_option(const std::string& name, const std::vector<std::string>& names, ForeignNames foreign) {
    std::string meant;
    for (const std::string& each : meant_names(name, names, foreign))
        meant += (meant.empty() ? "\"" : " or \"") + each + "\"";
    throw Error(ErrorCode::invalid_argument, format("unknown option \"%s\"", name.c_str()),
                "Valid options are " + quoted_list(names) + ".",
                meant.empty() ? "" : "Perhaps you meant " + meant + ".");
}

void add_option(JsonWriter& json, std::string_view name, const OptionValue& value) {
    if (const auto* const text = std::get_if<std::string>(&value))
        json.add(name, *text);
    else
        json.add_json(name, value.index() == 0 ? "null" : value_text(value));
}

} // namespace btml::pg
