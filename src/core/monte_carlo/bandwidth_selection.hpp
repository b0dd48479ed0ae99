// Finds the bandwidth with the least cross-validation score. All bandwidths are scored on the same rows with the same
// inner samples, and are compared by the standard error of the difference of their scores, which is far below that of
// the scores themselves. Rows are added until what is not clearly worse than the best differs from it by next to
// nothing.
#pragma once

#include "core/monte_carlo/scores.hpp"

#include <optional>

namespace btml::monte_carlo {

struct SelectionOptions {
    ScoreOptions score;
    std::optional<double> lower, upper; // bound the bandwidth of x; they come from the data where not given
    int steps = 30; // so many bandwidths are scored; for kcde so many of x and as many of the target
};

struct ScoredBandwidth {
    Bandwidths bandwidths;
    double score, std_error;
    bool best;
};

// Returns the curve in ascending order of bandwidths: a logarithmic grid of two thirds of the steps (but three at least
// where there are as many), the others between the neighbours of its best. For kcde, grids of x, of the target and of x
// again, each at the best of the one before: 2 · steps − 1 in all. The range of x goes by default from half of the
// distance that one in ten rows has to the nearest other row (of those that differ) to twice the root mean square of
// the coordinates' standard deviations. Throws as Scores does, and invalid_argument where all points are the same and
// no range is given, and for a lower bound not below the upper.
std::vector<ScoredBandwidth> select_bandwidth(ScoreRows rows, ScoreKind kind, const SelectionOptions& options,
                                              ThreadTeam& team, RunContext& context);

} // namespace btml::monte_carlo
