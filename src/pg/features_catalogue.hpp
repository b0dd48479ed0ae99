// What PostgreSQL's catalogue says of the tables around a source: columns, foreign keys, unique keys.
#pragma once

#include "core/features/candidates.hpp"
#include "pg/source/source.hpp"

namespace btml::pg {

// A date or timestamp is a time, an integer, real or numeric a number; text-like types and enums are text, but for
// collations in which different texts are equal. Nothing for all others.
std::optional<features::ColumnType> feature_column_type(Oid type, Oid collation);
features::TimeType time_type_of(Oid type);
// Returns the type of a column of times. Error wrong_type for any other.
features::TimeType require_time(const Source::Column& as_of);

// Fills tables, foreign keys and the source's columns. named: further tables by their names as in SQL, whose numbers
// among the tables are the result. Errors as PostgreSQL's for a table that is not there.
std::vector<int> read_catalogue(const Source& source, const std::vector<std::string>& named,
                                features::CandidateRequest& request, RunContext& context);

// Returns the SQL of a plan's features over a source. The plan may come from anywhere: of its tables it is taken to say
// what the catalogue says now. Errors as of features::feature_sql and as PostgreSQL's for a table that is not there;
// undefined_column where the source lacks a column that the plan needs; wrong_type for a time of another type;
// invalid_argument where a table has lost the key by which the plan joins one row a thing.
std::string feature_sql_over(features::Plan plan, const Source& source, RunContext& context);

} // namespace btml::pg
