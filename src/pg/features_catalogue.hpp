// What PostgreSQL's catalogue says of the tables around a source: columns, foreign keys, unique keys.
#pragma once

#include "core/features/candidates.hpp"
#include "pg/source/source.hpp"

namespace btml::pg {

// The values of one row of a query, its texts by column; NULL as "".
using TextRow = std::vector<std::string>;

// Runs a query of ours, all of whose columns are texts, with the caller's rights. phase: what progress calls it.
std::vector<TextRow> text_rows(const std::string& sql, const char* phase, RunContext& context);

// A date or timestamp is a time, an integer, real or numeric a number; text-like types and enums are text, but for
// collations in which different texts are equal. Nothing for all others.
std::optional<features::ColumnType> feature_column_type(Oid type, Oid collation);
features::TimeType time_type_of(Oid type);

// Fills tables, foreign keys and the source's columns. named: further tables by their names as in SQL, whose numbers
// among the tables are the result. Errors as PostgreSQL's for a table that is not there.
std::vector<int> read_catalogue(const Source& source, const std::vector<std::string>& named,
                                features::CandidateRequest& request, RunContext& context);

// Has a plan, which may come from anywhere, say of its tables what holds now: their schemas, the types of times, keys
// and numbers, collations. as_of: the type of the source's. Errors as PostgreSQL's for a table that is not there;
// undefined_column where the source lacks a key; wrong_type for a time of another type; invalid_argument where a table
// has lost the key by which the plan joins one row a thing.
void read_tables(features::Plan& plan, const Source& source, features::TimeType as_of, RunContext& context);

} // namespace btml::pg
