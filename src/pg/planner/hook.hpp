// Offers PostgreSQL's planner factorised aggregates.
#pragma once

#include "pg/bridge/postgres.hpp"

namespace btml::pg::planner {

// Sets create_upper_paths_hook to one that first calls whoever had set it before. Must be called once, when the module
// is loaded.
void install_hook();

// While it is set, every grouped or distinct query over a join that is planned says here what became of it; those of
// functions that the planner calls, too.
struct Verdicts {
    MemoryContext memory; // of the lines, for functions have memory that does not last
    List* lines;          // of char*
};
// Whether they are set: plans that are made then are not run.
bool collects_verdicts();
// Returns the one that was set before.
Verdicts* set_verdicts(Verdicts* verdicts);

} // namespace btml::pg::planner
