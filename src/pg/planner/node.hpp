// The plan node: Custom Scan (btml Factorized Aggregate).
#pragma once

#include "pg/bridge/postgres.hpp"

namespace btml::pg::planner {

// A path's custom_private: target list of the scan, HAVING, the bytes of the FactorizedPlan, what EXPLAIN says of it,
// the names of the scans. Its custom_paths: the scans in the order of the plan's tables, then the ordinary plan.
extern const CustomPathMethods path_methods;

// Makes the node known by its name. Must be called once, when the module is loaded.
void register_node();

} // namespace btml::pg::planner
