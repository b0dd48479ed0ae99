// Chooses the bandwidth of a density or of a kernel regression where none is given.
#pragma once

#include "core/monte_carlo/bandwidth_selection.hpp"

namespace btml::monte_carlo {

struct BandwidthChoice {
    double bandwidth; // in units of the rows' coordinates
    ScoreKind kind;
    Kernel scored;                      // is the kernel that the curve, or the rule, is of
    std::vector<ScoredBandwidth> curve; // is empty where a rule chose
};

// Takes the bandwidth with the least leave-one-out score: of rows with targets, the squared error of kernel regression;
// of others, minus the log-likelihood of the density. Rows with numbers far from all others do not count unless they
// are most. The likelihood of a kernel that ends somewhere is infinite as soon as one row is far from all others, so
// there the Gaussian kernel's bandwidth is multiplied by the ratio at which both kernels smooth alike (canonical
// bandwidths: Marron, Nolan, 1988). Where more than half of the rows equal another, as rounded numbers do, the
// likelihood grows without bound as the bandwidth falls: there the rule for normal rows is taken (Silverman: Density
// Estimation for Statistics and Data Analysis, table 4.1), but no less than the median distance of neighbouring
// values in any coordinate. Throws as select_bandwidth does.
BandwidthChoice choose_bandwidth(ScoreRows rows, Kernel kernel, uint64_t seed, ThreadTeam& team, RunContext& context);

} // namespace btml::monte_carlo
