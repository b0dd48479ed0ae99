// Boosted trees of other libraries: btml.to_lightgbm, btml.from_lightgbm, btml.from_xgboost.
#include "core/base/utf8.hpp"
#include "core/boosting/exchange/lightgbm_text.hpp"
#include "core/boosting/exchange/xgboost_json.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/model/model_value.hpp"
#include "pg/values/arguments.hpp"
#include "pg/values/bytes.hpp"
#include "pg/values/named_options.hpp"
#include "pg/values/result.hpp"

#include <charconv>

extern "C" {
#include "access/detoast.h"
#include "mb/pg_wchar.h"
}

namespace btml::pg {

using namespace boosting;

namespace {

// Reads a text and the categories that are given with it.
using ReadModel = ImportedModel (*)(std::string_view text, std::string_view categories, RunContext& context);

// Returns the four digits of an escape \uXXXX that begins there; −1 where there is none.
int32_t unicode_escape(std::string_view text, size_t at) {
    constexpr size_t length = 6;
    if (at + length > text.size() || text[at] != '\\' || text[at + 1] != 'u') return -1;
    int32_t code = 0;
    const char *const begin = text.data() + at + 2, *const end = text.data() + at + length;
    return std::from_chars(begin, end, code, 16).ptr == end ? code : -1;
}

// Returns a character in the database's encoding, of PostgreSQL's memory. May ereport, and says then where it stands.
const char* own_character(const std::string& utf8, size_t at) {
    ErrorContextCallback callback{error_context_stack,
                                  [](void* place) {
                                      errcontext("an escape of JSON in byte %zu of the model's text",
                                                 *static_cast<size_t*>(place) + 1);
                                  },
                                  &at};
    error_context_stack = &callback;
    const char* const converted = pg_any_to_server(utf8.data(), static_cast<int>(utf8.size()), PG_UTF8);
    error_context_stack = callback.previous;
    return converted;
}

// Escapes of JSON are Unicode, while names are in the database's encoding: returns the text with the characters beyond
// ASCII in the place of their escapes. What is no escape of a character is left to the reader.
Buffer<char> without_escapes(std::string_view text, RunContext& context) {
    Buffer<char> result(context.memory(), "the text of a model", text.size());
    size_t size = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t begin = at;
        const int32_t code = unicode_escape(text, at), low = code < 0 ? -1 : unicode_escape(text, at + 6);
        const bool has_low = code >= 0xd800 && code < 0xdc00 && low >= 0xdc00 && low < 0xe000,
                   is_character = has_low || (code >= 0x80 && (code < 0xd800 || code >= 0xe000));
        if (is_character) {
            std::string utf8;
            append_utf8(utf8,
                        static_cast<char32_t>(has_low ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : code));
            const std::string_view own = pg_call([&] { return std::string_view(own_character(utf8, begin)); });
            size = static_cast<size_t>(std::copy(own.begin(), own.end(), result.begin() + size) - result.begin());
            pg_call([=] { pfree(const_cast<char*>(own.data())); });
            at += has_low ? 12 : 6;
            context.worked(100);
        } else {
            // A backslash and what it escapes stay together.
            const size_t taken = text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
            for (size_t i = 0; i < taken; i++) result[size++] = text[at++];
        }
        context.worked(1);
    }
    result.resize(size);
    return result;
}

// Reads the text with the categories of the call, and returns the model.
Datum import_text(const Arguments& arguments, std::string_view text, ReadModel read, RunContext& context) {
    const std::string categories = arguments.is_null(1) ? std::string() : json_text(arguments.datum(1, "categories"));
    Buffer<char> converted(context.memory(), "the text of a model");
    const int encoding = GetDatabaseEncoding();
    const bool has_own_characters = encoding != PG_UTF8 && encoding != PG_SQL_ASCII;
    if (has_own_characters && text.find("\\u") != std::string_view::npos) {
        converted = without_escapes(text, context);
        text = {converted.data(), converted.size()};
    }
    ImportedModel imported = read(text, categories, context);
    for (const ImportNotice& told : imported.notices) notice(told.message, told.detail, told.hint);
    return imported_model_datum(imported.model, context);
}

Datum import_model(FunctionCallInfo fcinfo, const char* function, ReadModel read) {
    const Arguments arguments(fcinfo);
    if (arguments.is_null(0)) PG_RETURN_NULL();
    BackendContext context(function);
    const Datum value = arguments.datum(0, "model");
    const Reservation counted(context.memory(), "the text of a model",
                              pg_call([=] { return toast_raw_datum_size(value); }));
    return import_text(arguments, pg_call([=] { return bytes_of(value, TEXTOID); }), read, context);
}

// Returns text that is UTF-8 in the database's encoding. Error character_not_in_repertoire for what is no UTF-8.
std::string_view own_text(std::string_view utf8) {
    if (utf8.size() > MaxAllocSize)
        throw Error(ErrorCode::limit_exceeded,
                    format("the model has %zu bytes as JSON, a text may have %zu", utf8.size(), size_t{MaxAllocSize}));
    return pg_call([=] {
        const char* const own = pg_any_to_server(utf8.data(), static_cast<int>(utf8.size()), PG_UTF8);
        return std::string_view(own, own == utf8.data() ? utf8.size() : strlen(own));
    });
}

} // namespace

// btml.from_lightgbm(model text [, categories btml.json]) → model
BTML_FUNCTION(btml_from_lightgbm) {
    return import_model(fcinfo, "from_lightgbm", read_lightgbm);
}

// btml.from_xgboost(model text [, categories btml.json]) → model
BTML_FUNCTION(btml_from_xgboost) {
    return import_model(fcinfo, "from_xgboost", read_xgboost);
}

// btml.from_xgboost(model bytea [, categories btml.json]) → model
BTML_FUNCTION(btml_from_xgboost_ubjson) {
    const Arguments arguments(fcinfo);
    if (arguments.is_null(0)) PG_RETURN_NULL();
    BackendContext context("from_xgboost");
    const Datum value = arguments.datum(0, "model");
    const Reservation counted(context.memory(), "the bytes of a model",
                              pg_call([=] { return toast_raw_datum_size(value); }));
    const std::span<const std::byte> bytes = datum_bytes(value);
    const Buffer<char> json = json_of_ubjson({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, context);
    return import_text(arguments, own_text({json.data(), json.size()}), read_xgboost_ubjson, context);
}

// btml.to_lightgbm(model) → text
BTML_FUNCTION(btml_to_lightgbm) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    BackendContext context("to_lightgbm");
    StoredModel stored = read_model(PG_GETARG_DATUM(0), context);
    const Model& model = boosted_trees(stored, "to_lightgbm", "btml.predict predicts with any model.");
    return long_text_datum(write_lightgbm(model, context), "the text of the model", context);
}

} // namespace btml::pg
