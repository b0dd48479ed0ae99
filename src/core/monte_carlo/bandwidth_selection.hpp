// Finds the bandwidth with the least cross-validation score. All bandwidths are scored on the same rows with the same
// inner samples, and are compared by the standard error of the difference of their scores, which is far below that of
// the scores themselves. Rows are added until what is not clearly worse than the best differs from it by next to
// nothing.
#pragma once

#include "core/base/options_table.hpp"
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

struct BandwidthChoice {
    double bandwidth; // in units of the rows' coordinates
    ScoreKind kind;
    Kernel scored;                      // is the kernel that the curve, or the rule, is of
    std::vector<ScoredBandwidth> curve; // is empty where a rule chose
};

// Chooses the bandwidth of a density or of a kernel regression where none is given.
// Takes the bandwidth with the least leave-one-out score: of rows with targets, the squared error of kernel regression;
// of others, minus the log-likelihood of the density. Rows with numbers far from all others do not count unless they
// are most. The likelihood of a kernel that ends somewhere is infinite as soon as one row is far from all others, so
// there the Gaussian kernel's bandwidth is multiplied by the ratio at which both kernels smooth alike (canonical
// bandwidths: Marron, Nolan, 1988). Where more than half of the rows equal another, as rounded numbers do, the
// likelihood grows without bound as the bandwidth falls: there the rule for normal rows is taken (Silverman: Density
// Estimation for Statistics and Data Analysis, table 4.1), but no less than the median distance of neighbouring
// values in any coordinate. Throws as select_bandwidth does.
BandwidthChoice choose_bandwidth(ScoreRows rows, Kernel kernel, uint64_t seed, ThreadTeam& team, RunContext& context);

// Says what a caller chooses of a cross-validation score, and of the search for its least.
struct ScoreRequest {
    Bandwidths bandwidths{0};        // of a score
    ScoreKind kind = ScoreKind::kde; // of a search
    SelectionOptions selection;      // its score options are those of a score, too
    bool scaled = false;             // each coordinate is divided by its standard deviation
};

extern const OptionsTable<ScoreRequest> score_options_table;

} // namespace btml::monte_carlo
