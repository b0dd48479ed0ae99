// The ways to factorize a query, and what they cost.
#pragma once

#include "pg/planner/shape.hpp"

namespace btml::pg::planner {

// Holds a planned join without destructors, past which an error may jump.
struct PathParts {
    Const* plan;
    char *description, *shared_scans;
    double cost, memory, width;
    List* names;    // of the plan's tables that are no bags
    List* tables;   // of int, by scan: of the query's shape
    List* columns;  // of lists of Expr*, by scan
    List* distinct; // of int, by scan: whether it gives each row once
    List* computed; // of lists of Expr*, by scan: over its rows
};

// A way to factorize a query.
struct Candidate {
    QueryShape query;
    PathParts parts;
    List* scans;     // of Path*
    double cost;     // before its groups are given
    double max_rows; // that the ordinary plan may find before it is given up; 0: it is not begun first
};

// An ordinary plan that is thought cheaper, by no more than this, is begun first.
constexpr double max_advantage = 10;

// Plans the query of the candidate, as find_query() found it with conditions over two tables. Where it has some the way
// without them is planned as well, and the cheaper one is taken, or the one with them where the setting forces it.
// ordinary: the plan that it competes with, and its cost.
Refusal find_candidate(PlannerInfo* root, RelOptInfo* input, const Asked& asked, const Path* ordinary,
                       double cost_of_ordinary, Candidate* best);

} // namespace btml::pg::planner
