// A model as one SQL expression over its feature names.
#pragma once

#include "core/boosting/model.hpp"

namespace btml::boosting {

// PostgreSQL SQL of type float8 that equals predict() bit for bit on every row, NULL, NaN and unseen categories
// included: base + CASE … END + …, columns as quoted identifiers cast by the feature's SQL type (dates and times to
// seconds since 1970, categories to text).
std::string to_sql(const Model& model);

} // namespace btml::boosting
