// Divides the rows of a score into strata, by features, target and what the neighbours in the leaf of the kd-tree tell
// of a row: they are nodes of a second variance kd-tree, the one of largest size times standard deviation split first.
#pragma once

#include "core/monte_carlo/nested_sum.hpp"
#include "core/monte_carlo/score_form.hpp"
#include "core/monte_carlo/variance_tree.hpp"

namespace btml::monte_carlo {

// Makes at most `count` strata for all bandwidths of a score; in each, the rows are in an order drawn from the seed.
// Rows are told apart, for kr, by the squares of their target and of its difference from the mean target of their leaf,
// about which the score sums at large and at small bandwidths; else by the logarithm of its distance to the nearest row
// in the leaf.
OuterStrata outer_strata(const VarianceTree& tree, ScoreKind kind, int count, uint64_t seed, ThreadTeam& team,
                         RunContext& context);

} // namespace btml::monte_carlo
