// XGBoost's JSON and UBJSON from anywhere: it is read, or refused; what is read can be stored and used.
#include "core/boosting/exchange/xgboost_json.hpp"
#include "imported_model_use.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    btml::boosting::read_hostile({reinterpret_cast<const char*>(data), size}, btml::boosting::read_xgboost);
    btml::boosting::read_hostile(
        {reinterpret_cast<const char*>(data), size},
        [](std::string_view bytes, std::string_view categories, btml::RunContext& context) {
            const btml::Buffer<char> json = btml::boosting::json_of_ubjson(bytes, context);
            return btml::boosting::read_xgboost_ubjson({json.data(), json.size()}, categories, context);
        });
    return 0;
}
