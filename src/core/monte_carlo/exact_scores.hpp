// Sums the cross-validation scores over all pairs of rows, in blocks: O(n²·d), for S_KCDE as well (its integral is
// linear in the rows, for each row). They are the reference of the sampled ones, and faster up to some thousand rows.
#pragma once

#include "core/monte_carlo/pair_sums.hpp"

namespace btml::monte_carlo {

// Returns the scores at each of the bandwidths; distances are found once for many of them. Of rows whose weights all
// underflow, the nearest row alone counts.
std::vector<ScoreEstimate> exact_scores(const ScoreForm& form, const ExactRows& rows,
                                        std::span<const Bandwidths> bandwidths, ThreadTeam& team, RunContext& context);

} // namespace btml::monte_carlo
