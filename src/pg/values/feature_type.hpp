// Types of the columns that a model is trained on, and those it takes later in their place.
#pragma once

#include "core/data/feature.hpp"
#include "pg/bridge/guard.hpp"
#include "pg/values/values.hpp"

namespace btml::pg {

// The name kept in a model: that of a domain's base type, and independent of search_path.
std::string stored_type_name(Oid type);

// Error wrong_type unless equal values of the type have one text, the same in every session, so that they can be
// categories. what: as in "feature".
void require_category_type(const char* what, const std::string& column, Oid type, Oid collation);

// Error wrong_type unless values of the type can be what the feature was in training: numbers for a number, times for a
// time, arrays of numbers for an element, and for a category its text, an enum where it was a text, or the type that it
// had, whose values have the same text. owner: what has the column, as in "the record".
void require_feature_type(const Feature& feature, Oid type, const char* owner);

// Returns the cast to the type that a point in time had in training; null where the number is the same without it.
PGFunction time_cast(const Feature& feature, Oid type);

} // namespace btml::pg
