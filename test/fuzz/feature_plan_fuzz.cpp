// A plan of features from anywhere: it is read, or refused; what is read is written, listed and made SQL.
#include "core/features/feature_sql.hpp"

#include <cstdlib>

using namespace btml;
using namespace btml::features;

static std::string json_of(const Plan& plan, RunContext& context) {
    const Buffer<char> json = to_json(plan, context);
    return {json.data(), json.size()};
}

static void use(const Plan& plan, RunContext& context) {
    size_t bytes = 0;
    for (const Definition& feature : plan.features)
        bytes += plan.words(feature).size() + plan.path(feature.relation).size();
    if (bytes == 0 && !plan.features.empty()) std::abort();
    PredictionSource source{.sql = "SELECT customer, as_of FROM task", .columns = {"customer", "as_of"}};
    for (const TimeType as_of : {TimeType::timestamp, TimeType::timestamptz}) {
        source.as_of = as_of;
        try {
            feature_sql(
                plan, source, [](std::string_view word) { return word == "select"; }, context);
        } catch (const Error& error) {
            if (error.code() != ErrorCode::invalid_argument && error.code() != ErrorCode::wrong_type &&
                error.code() != ErrorCode::limit_exceeded && error.code() != ErrorCode::memory_limit)
                std::abort();
        }
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    QuietContext context(1, uint64_t{1} << 28);
    std::string json;
    try {
        const Plan plan = parse_plan({reinterpret_cast<const char*>(data), size}, context);
        use(plan, context);
        json = json_of(plan, context);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_argument) std::abort();
        return 0;
    }
    if (json_of(parse_plan(json, context), context) != json) std::abort();
    return 0;
}
