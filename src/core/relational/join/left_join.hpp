// Left joins as natural joins: a null row in the right table, and a private attribute on both.
#pragma once

#include "core/relational/join/table.hpp"

namespace btml::relational {

// For each edge: one more row in the right table, and one more key column, of an attribute that no other table has, in
// both. Left rows that match no right row get the null row's key. Edges are taken from the outside in: the null row of
// a table that is itself the left side of another edge has NULL keys there and so meets that edge's null row (unless
// that edge has no key columns: then it meets every right row, if there are any, as each left row does).
// Error internal when a table is the right side of two edges, of an edge to itself or of a circle of edges.
void expand_left_joins(std::vector<Table>& tables, std::vector<LeftJoin> edges, RunContext& context);

} // namespace btml::relational
