// Models and points of functions that are called row by row.
#pragma once

#include "pg/model/model_cache.hpp"

namespace btml::pg {

// Return the model of a call (model, input record, …) or (model, features float8[], …), with the point in `values`.
// Errors: those of ModelCache, RecordReader and require_width.
CachedModel& load_record(FunctionCallInfo fcinfo, ModelUse use = ModelUse::predict);
CachedModel& load_array(FunctionCallInfo fcinfo, ModelUse use = ModelUse::predict);

// Defines btml.NAME(model, record, …) and btml.NAME(model, float8[], …) by name(fcinfo, CachedModel&) → Datum.
#define BTML_PREDICTION(name)                                                                                          \
    BTML_FUNCTION(btml_##name##_record) {                                                                              \
        return name(fcinfo, load_record(fcinfo));                                                                      \
    }                                                                                                                  \
    BTML_FUNCTION(btml_##name##_array) {                                                                               \
        return name(fcinfo, load_array(fcinfo));                                                                       \
    }

// Returns numbers as a value of the call's composite type.
Datum composite(FunctionCallInfo fcinfo, std::initializer_list<double> numbers);

// Returns the deviation of an observation at the point from the prediction of boosted trees: 1 where they learned none.
double deviation_of_trees(CachedModel& cached);

// Error wrong_type: btml.`function` needs boosted trees.
[[noreturn]] void refuse_without_trees(const DecodedModel& model, const char* function);
// Error wrong_type: btml.`function` needs labels.
[[noreturn]] void refuse_without_labels(const char* function, const char* instead);
// Error wrong_type: btml.`function` needs a single score.
[[noreturn]] void refuse_several_scores(const char* function, const char* instead);

// Error invalid_argument unless there is one value per feature.
void require_width(const std::vector<double>& values, const std::vector<Feature>& features);

} // namespace btml::pg
