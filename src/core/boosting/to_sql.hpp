// A model as one SQL expression over its feature names.
#pragma once

#include "core/base/run_context.hpp"
#include "core/boosting/model.hpp"

namespace btml::boosting {

// PostgreSQL SQL of type float8 that equals predict() bit for bit on every row, NULL, NaN and unseen categories
// included: base + CASE … END + …, columns as quoted identifiers cast by the feature's SQL type (dates and times to
// seconds since 1970, categories to text). Both take time in proportion to the text.
uint64_t sql_length(const Model& model, RunContext& context); // in bytes
void write_sql(const Model& model, char* text, RunContext& context);

} // namespace btml::boosting
