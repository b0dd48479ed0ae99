#include "core/kernel/bandwidth_race.hpp"

#include <cmath>

namespace btml::kernel {

namespace {

constexpr size_t rows_per_item = 8;
constexpr double worth_telling_apart = 0.1; // of epsilon times the best score

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

void BandwidthRace::add(const Bandwidths& bandwidths) {
    terms_.prepare(bandwidths);
    bandwidths_.push_back(bandwidths);
    draws_.emplace_back();
    racing_.push_back(true);
    evaluate(bandwidths_.size() - 1);
}

void BandwidthRace::evaluate(size_t bandwidth) {
    std::vector<Draw>& draws = draws_[bandwidth];
    const size_t first = draws.size();
    draws.resize(panel_.size());
    const size_t items = (panel_.size() - first + rows_per_item - 1) / rows_per_item;
    team_.for_each(items, [&](size_t item, int worker) {
        const size_t end = std::min(panel_.size(), first + (item + 1) * rows_per_item);
        for (size_t i = first + item * rows_per_item; i < end; i++)
            draws[i] = terms_.draw(bandwidth, panel_[i].row, options_.seed, worker);
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
    const double enough = worth_telling_apart * options_.epsilon * std::abs(score(winner));
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
    while (drop_losers() && panel_.size() < most_rows) {
        const size_t before = panel_.size();
        SamplingOptions more = options_;
        more.epsilon = 1e-9; // as many as one look allows
        more.tolerance = 0;
        StratifiedMean target(strata_.sizes(), more);
        const size_t winner = best();
        for (size_t row = 0; row < panel_.size(); row++) target.add(panel_[row].stratum, draws_[winner][row]);
        grow(target.plan());
        if (panel_.size() == before) break;
        for (size_t i = 0; i < size(); i++)
            if (racing_[i]) evaluate(i);
    }
}

} // namespace btml::kernel
