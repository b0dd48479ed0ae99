// Values of a result's rows as PostgreSQL's aggregates make them.
#pragma once

#include "core/relational/streamed/cells.hpp"
#include "pg/planner/factorized_plan.hpp"

namespace btml::pg::planner {

// What the rows of a group add up to for an aggregate: what its terms add up to, or their extremum; the sum of the
// argument's squares, of a variance; and how many rows have an argument.
struct GroupTotals {
    relational::StreamedCell sum, squares;
    __int128 count;
};

// All of these are for calls inside pg_call, and allocate in the current memory context.

// The value whose bits key_word() gives as an integer.
Datum word_datum(int64_t word, Oid type);
// Returns false for NULL. May ereport where the value leaves its type.
bool output_datum(const AggregateOutput& output, const GroupTotals& totals, Datum* value);

} // namespace btml::pg::planner
