// The plan node: Custom Scan (btml Factorized Aggregate).
#pragma once

#include "pg/bridge/postgres.hpp"

namespace btml::pg::planner {

// A path's custom_private: target list of the scan, HAVING, the bytes of the FactorizedPlan, what EXPLAIN says of it,
// the names of the scans, by scan the expressions that are computed from its rows, and how many rows the ordinary plan
// may find before it is given up (0: it is not begun first). Its custom_paths: the scans in the order of the plan's
// tables, then the ordinary plan.
extern const CustomPathMethods path_methods;

// Makes the node known by its name. Must be called once, when the module is loaded.
void register_node();

} // namespace btml::pg::planner
