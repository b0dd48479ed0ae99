#include "core/monte_carlo/bandwidth_choice.hpp"

#include <cmath>
#include <numbers>

namespace btml::monte_carlo {

namespace {

// Returns how much wider than the Gaussian kernel the Epanechnikov kernel 1 − ‖u‖² must be to smooth alike in so many
// dimensions d: with roughness R = ∫k² and variance v of each coordinate, both of the kernel that integrates to 1, by
// the ratio of (R / v²)^(1 / (d + 4)). Of the Gaussian, R is (4π)^(−d/2) and v 1; of this one 4 / ((d + 4) V) and
// 1 / (d + 4), with V = ∫(1 − ‖u‖²).
double canonical_ratio(const pairwise::KernelFacts& kernel, double d) {
    const double log_ratio = std::log(4 * (d + 4)) + d / 2 * std::log(4 * std::numbers::pi) - kernel.log_volume(1, d);
    return std::exp(log_ratio / (d + 4));
}

} // namespace

BandwidthChoice choose_bandwidth(ScoreRows rows, Kernel kernel, uint64_t seed, ThreadTeam& team, RunContext& context) {
    const auto d = static_cast<double>(rows.dimensions);
    const pairwise::KernelFacts& facts = facts_of(kernel);
    const ScoreKind kind = rows.target ? ScoreKind::kr : ScoreKind::likelihood;
    const bool by_gaussian = kind == ScoreKind::likelihood && facts.is_compact;
    SelectionOptions options;
    options.score.kernel = by_gaussian ? Kernel{} : kernel;
    options.score.sampling.seed = seed;
    BandwidthChoice choice{0, kind, options.score.kernel,
                           select_bandwidth(std::move(rows), kind, options, team, context)};
    for (const ScoredBandwidth& row : choice.curve)
        if (row.best) choice.bandwidth = row.bandwidths.x * (by_gaussian ? canonical_ratio(facts, d) : 1);
    return choice;
}

} // namespace btml::monte_carlo
