// Boosted trees of other libraries: btml.to_lightgbm, btml.from_lightgbm, btml.from_xgboost.
#include "core/boosting/exchange/lightgbm_text.hpp"
#include "core/boosting/exchange/xgboost_json.hpp"
#include "pg/bridge/arguments.hpp"
#include "pg/bridge/backend_context.hpp"
#include "pg/bridge/bytes.hpp"
#include "pg/bridge/result.hpp"
#include "pg/model.hpp"
#include "pg/options.hpp"

extern "C" {
#include "access/detoast.h"
#include "mb/pg_wchar.h"
}

namespace btml::pg {

using namespace boosting;

namespace {

// Reads a text and the categories that are given with it.
using ReadModel = ImportedModel (*)(std::string_view text, std::string_view categories, RunContext& context);

// Refuses names that are no text of this database, as JSON can have any character: error invalid_argument.
void check_names(const std::vector<Feature>& features, RunContext& context) {
    const auto is_valid = [](std::string_view text) {
        return pg_verify_mbstr(GetDatabaseEncoding(), text.data(), static_cast<int>(text.size()), true);
    };
    const auto refuse = [](const std::string& whose) {
        const char* const encoding = pg_call([] { return GetDatabaseEncodingName(); });
        throw Error(ErrorCode::invalid_argument,
                    whose + format(" is not valid in the encoding of the database, %s", encoding));
    };
    for (size_t f = 0; f < features.size(); f++) {
        const Feature& feature = features[f];
        if (!pg_call([&] { return is_valid(feature.name); })) refuse(format("the name of feature %zu", f));
        for (const std::string& category : feature.categories) {
            if (!pg_call([&] { return is_valid(category); })) refuse("a category of feature \"" + feature.name + "\"");
            context.worked(category.size() + 10);
        }
    }
}

Datum import_model(FunctionCallInfo fcinfo, const char* function, ReadModel read) {
    const Arguments arguments(fcinfo);
    if (arguments.is_null(0)) PG_RETURN_NULL();
    BackendContext context(function);
    const Datum value = arguments.datum(0, "model");
    const Reservation counted(context.memory(), "the text of a model",
                              pg_call([=] { return toast_raw_datum_size(value); }));
    const std::string_view text = pg_call([=] { return bytes_of(value, TEXTOID); });
    const std::string categories = arguments.is_null(1) ? std::string() : json_text(arguments.datum(1, "categories"));
    ImportedModel imported = read(text, categories, context);
    check_names(imported.model.features, context);
    return imported_model_datum(imported.model, context);
}

} // namespace

// btml.from_lightgbm(model text [, categories jsonb]) → model
BTML_FUNCTION(btml_from_lightgbm) {
    return import_model(fcinfo, "from_lightgbm", read_lightgbm);
}

// btml.from_xgboost(model text [, categories jsonb]) → model
BTML_FUNCTION(btml_from_xgboost) {
    return import_model(fcinfo, "from_xgboost", read_xgboost);
}

// btml.to_lightgbm(model) → text
BTML_FUNCTION(btml_to_lightgbm) {
    if (PG_ARGISNULL(0)) PG_RETURN_NULL();
    BackendContext context("to_lightgbm");
    StoredModel stored = read_model(PG_GETARG_DATUM(0), context);
    const Model& model = boosted_trees(stored, "to_lightgbm", "btml.predict predicts with any model.");
    const Buffer<char> text = write_lightgbm(model, context);
    if (text.size() > MaxAllocSize - VARHDRSZ)
        throw Error(ErrorCode::limit_exceeded, format("the text of the model has %zu bytes, a text may have %zu",
                                                      text.size(), size_t{MaxAllocSize - VARHDRSZ}));
    const Reservation counted(context.memory(), "the text of a model", text.size());
    return text_datum({text.data(), text.size()});
}

} // namespace btml::pg
