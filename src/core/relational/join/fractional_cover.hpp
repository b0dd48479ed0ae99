// Fractional edge covers, the linear programme behind fractional hypertree width (all weights 1: Grohe, Marx 2014) and
// the AGM bound on the rows of a join (weights log |T|: Atserias, Grohe, Marx 2008).
#pragma once

#include <functional>
#include <vector>

namespace btml::relational {

// The least Σ_e weights[e] x_e with x ≥ 0 and, for each vertex 0 ≤ v < vertices, Σ x_e ≥ 1 over the edges e that have
// it. Weights are finite and ≥ 0. Error internal when some vertex is in no edge.
double fractional_cover(int vertices, const std::vector<std::vector<int>>& edges, const std::vector<double>& weights);

// Does so for some vertices and the parts of edges among them. All lists of vertices ascend.
using WeightOfPart = std::function<double(int edge, const std::vector<int>& part)>;
double fractional_cover(const std::vector<int>& vertices, const std::vector<std::vector<int>>& edges,
                        const WeightOfPart& weight);

} // namespace btml::relational
