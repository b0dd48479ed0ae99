// Hypertree decompositions of small fractional hypertree width (Grohe, Marx 2014), by orders of elimination.
#pragma once

#include "core/base/run_context.hpp"
#include "core/relational/join/fractional_cover.hpp"

#include <functional>
#include <vector>

namespace btml::relational {

struct HypertreeDecomposition {
    // The attributes, ascending, of each bag that is within no other bag and within no single edge. The edges and these
    // bags together make an acyclic hypergraph; the bags of an acyclic one are none.
    std::vector<std::vector<int>> bags;
    double width = 1;  // the greatest fractional cover number of a bag
    bool exact = true; // no decomposition has less width
};

// The logarithm (≥ 0) of the number of rows, or of a bound on it, of one edge's table projected to some attributes.
using LogSize = WeightOfPart;

// edges[t]: the join attributes of table t, each at most once. Exact up to 16 attributes (those that occur in the same
// tables count as one, those of one table only not at all): least width, and then least sum of the AGM bounds of the
// bags that elimination makes. Min-fill beyond.
HypertreeDecomposition decompose(const std::vector<std::vector<int>>& edges, const LogSize& log_size,
                                 RunContext& context);

} // namespace btml::relational
