// A plan of features as one SELECT.
#pragma once

#include "core/features/plan.hpp"

namespace btml::features {

// What the SELECT is made over: a SELECT of one row a prediction.
struct PredictionSource {
    std::string sql;                  // may end in a comment
    std::vector<std::string> columns; // its output columns, all of which the result has
    TimeType as_of = TimeType::none;  // of the plan's as_of, where it has one
};

// The number of columns that a SELECT may have.
inline constexpr size_t max_columns = 1664;

// Returns a SELECT of the source's columns and of the features by name, in any order of rows. Whatever the plan names
// is quoted. is_reserved: says which names need quotes as they are words of SQL. Errors invalid_argument where the
// plan's features and the source's columns have a name in common, wrong_type where one of as_of and the time of a
// relation has a zone and the other has none, limit_exceeded beyond max_columns.
Buffer<char> feature_sql(const Plan& plan, const PredictionSource& source, bool (*is_reserved)(std::string_view),
                         RunContext& context);

} // namespace btml::features
