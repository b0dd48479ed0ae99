#include "core/monte_carlo/bandwidth_race.hpp"

#include <cmath>

namespace btml::monte_carlo {

namespace {

constexpr double worth_telling_apart = 0.1; // of the error asked for of the best score

} // namespace

BandwidthRace::BandwidthRace(const OuterStrata& strata, const SamplingOptions& options, TermEvaluator& terms,
                             ThreadTeam& team)
    : strata_(strata),
      options_(options),
      terms_(terms),
      team_(team),
      quantile_(normal_quantile((1 + options.confidence) / 2)),
      drawn_(strata.count(), 0) {
    grow(StratifiedMean(strata.sizes(), options).plan());
}

void BandwidthRace::grow(const std::vector<uint64_t>& wanted) {
    for (size_t s = 0; s < wanted.size(); s++)
        for (; drawn_[s] < wanted[s]; drawn_[s]++) panel_.push_back({s, strata_.rows[strata_.borders[s] + drawn_[s]]});
}

void BandwidthRace::add(std::span<const Bandwidths> bandwidths) {
    std::vector<size_t> joined;
    for (const Bandwidths& bandwidth : bandwidths) {
        terms_.prepare(bandwidth);
        joined.push_back(size());
        bandwidths_.push_back(bandwidth);
        draws_.emplace_back();
        racing_.push_back(true);
    }
    evaluate(joined);
}

void BandwidthRace::evaluate(const std::vector<size_t>& bandwidths) {
    if (bandwidths.empty()) return;
    const size_t first = draws_[bandwidths[0]].size();
    for (const size_t bandwidth : bandwidths) draws_[bandwidth].resize(panel_.size());
    team_.for_each(panel_.size() - first, [&](size_t item, int worker) {
        std::vector<Draw> draws(bandwidths.size());
        terms_.draw(bandwidths, panel_[first + item].row, options_.seed, worker, draws);
        for (size_t i = 0; i < bandwidths.size(); i++) draws_[bandwidths[i]][first + item] = draws[i];
    });
}

StratifiedMean BandwidthRace::mean(size_t i) const {
    StratifiedMean mean(strata_.sizes(), options_);
    for (size_t row = 0; row < draws_[i].size(); row++) mean.add(panel_[row].stratum, draws_[i][row]);
    return mean;
}

// Both draws of a row have the same inner samples, whose noise cancels in part: the sum of the two is a bound.
StratifiedMean BandwidthRace::difference(size_t i, size_t other) const {
    StratifiedMean mean(strata_.sizes(), options_);
    for (size_t row = 0; row < std::min(draws_[i].size(), draws_[other].size()); row++) {
        const Draw &a = draws_[i][row], &b = draws_[other][row];
        mean.add(panel_[row].stratum, {a.value - b.value, a.noise + b.noise});
    }
    return mean;
}

size_t BandwidthRace::best() const {
    size_t best = size();
    double least = 0;
    for (size_t i = 0; i < size(); i++) {
        if (!racing_[i]) continue;
        const double value = score(i);
        if (best == size() || value < least) {
            best = i;
            least = value;
        }
    }
    return best;
}

// False: every bandwidth left is as good as the best.
bool BandwidthRace::drop_losers() {
    const size_t winner = best();
    const double enough =
        worth_telling_apart * options_.epsilon * (options_.is_logarithm ? 1 : std::abs(score(winner)));
    bool open = false;
    for (size_t i = 0; i < size(); i++) {
        if (!racing_[i] || i == winner) continue;
        const StratifiedMean worse = difference(i, winner);
        const double error = quantile_ * worse.standard_error();
        if (worse.mean() > error)
            racing_[i] = false;
        else if (error > std::max(enough, options_.tolerance))
            open = true;
    }
    return open;
}

void BandwidthRace::run() {
    while (drop_losers() && panel_.size() < max_rows) {
        const size_t before = panel_.size();
        SamplingOptions more = options_;
        more.epsilon = 1e-9; // as many as one look allows
        more.tolerance = 0;
        StratifiedMean target(strata_.sizes(), more);
        const size_t winner = best();
        for (size_t row = 0; row < panel_.size(); row++) target.add(panel_[row].stratum, draws_[winner][row]);
        grow(target.plan());
        if (panel_.size() == before) break;
        std::vector<size_t> racing;
        for (size_t i = 0; i < size(); i++)
            if (racing_[i]) racing.push_back(i);
        evaluate(racing);
    }
}

} // namespace btml::monte_carlo
