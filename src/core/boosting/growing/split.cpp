#include "core/boosting/growing/split.hpp"

#include <cmath>

namespace btml::boosting {

static constexpr double noise = 1e-12;
static constexpr double noise_of_loss = 1e-18;

SplitRules::SplitRules(const Options& options, const SumUnits& units)
    : criterion(options.criterion),
      hessian_unit(units.hessian_unit),
      l1(std::min(std::ldexp(options.l1, units.shift + units.grid), 1e60)),
      l2(std::min(std::ldexp(options.l2, units.shift), 1e60)),
      min_gain(std::ldexp(options.min_gain, 2 * units.grid + units.shift)),
      square_unit(units.square_unit),
      first_square(std::ldexp(units.first_square, 2 * units.grid)),
      // Every tree before rounds the residual of a row by up to half a unit.
      rounding(std::max(units.drifts ? static_cast<double>(options.trees) * options.trees / 4 : 0,
                        noise_of_loss * first_square)) {
    static constexpr double most = 0x1p62;
    const auto count_of = [&](double rows) {
        const auto count = static_cast<int64_t>(std::clamp(std::ceil(std::ldexp(rows, units.count_scale)), 1.0, most));
        return std::max(count - units.slack, units.slack + 1);
    };
    min_count = count_of(options.min_leaf_rows);
    min_category_count = count_of(options.min_category_rows);
    slack = units.slack;
    if (needs_tallies(options) && options.criterion == Criterion::variance)
        min_hessian = static_cast<int64_t>(
            std::min(std::ceil(std::ldexp(options.min_leaf_hessian, units.shift) / units.hessian_unit), most));
    if (options.max_step)
        steps = {-std::ldexp(*options.max_step, units.grid), std::ldexp(*options.max_step, units.grid)};
    max_split_categories = options.max_split_categories > 0 ? options.max_split_categories : SIZE_MAX;
}

double SplitRules::value(Stats sums, const Bounds& bounds) const {
    const double s = sums.sum, h = hessian(sums) + l2;
    if (h == 0) return bounds.clamp(0);
    return bounds.clamp(std::copysign(std::max(0.0, std::fabs(s) - l1), s) / h);
}

double SplitRules::decrease(Stats sums, double value) const {
    return (2 * static_cast<double>(sums.sum) - (hessian(sums) + l2) * value) * value - 2 * l1 * std::fabs(value);
}

// The difference of the three terms, where no value is clamped written so that nothing cancels.
double SplitRules::gain(Stats left, Stats right, const Bounds& bounds) const {
    const double s_left = left.sum, s_right = right.sum;
    const double a = hessian(left) + l2, b = hessian(right) + l2;
    const auto holds = [&](double s, double h) { return s >= bounds.lower * h && s <= bounds.upper * h; };
    if (l1 > 0 || !(holds(s_left, a) && holds(s_right, b) && holds(s_left + s_right, a + b - l2))) {
        Stats both = left;
        both += right;
        return decrease(left, value(left, bounds)) + decrease(right, value(right, bounds)) -
               decrease(both, value(both, bounds));
    }
    const double difference = s_left * b - s_right * a;
    const double gain = difference * difference / (a * b * (a + b));
    if (l2 == 0) return gain;
    const double s = s_left + s_right, c = a + b;
    return gain - s * s * l2 / ((c - l2) * c);
}

// Holds for squared loss, whose hessian is the weight.
double SplitRules::mean_square_error(const NodeSums& sums) const {
    const double n = hessian(sums.total), mean = static_cast<double>(sums.total.sum) / n;
    return std::max(0.0, sums.tally.squares * square_unit / n - mean * mean);
}

double SplitRules::min_gain_of(Stats total) const {
    const double s = total.sum;
    const double h = hessian(total);
    return std::max({min_gain, noise * s * s / (h + l2), h * rounding});
}

bool SplitRules::is_centred(Stats total) const {
    const double mean = static_cast<double>(total.sum) / hessian(total);
    return mean * mean <= rounding;
}

// Sums of squares that come from queries cancel the squares of the target itself.
double SplitRules::error_tie(const NodeSums& node) const {
    return std::max(relative_tie * mean_square_error(node), noise * first_square);
}

SplitSearch::SplitSearch(const SplitRules& rules, const NodeSums& node, const Bounds& bounds,
                         std::span<const int8_t> directions)
    : rules_(rules),
      node_(node),
      bounds_(bounds),
      directions_(directions),
      min_gain_(rules.min_gain_of(node.total)),
      tolerance_(rules.criterion == Criterion::mse_sum ? rules.error_tie(node) : 0) {}

Candidates SplitSearch::no_candidates() const {
    return rules_.criterion == Criterion::mse_sum ? Candidates(0, tolerance_) : Candidates(relative_tie, 0);
}

bool SplitSearch::is_in_order(const Candidate& candidate, Stats left, Stats right) const {
    const int direction = directions_.empty() ? 0 : directions_[candidate.feature];
    return direction == 0 || direction * (rules_.value(right, bounds_) - rules_.value(left, bounds_)) >= 0;
}

void SplitSearch::consider(const Candidate& candidate, Candidates& found) const {
    const NodeSums& left = candidate.left;
    const NodeSums right = node_ - left;
    if (left.count() < rules_.min_count || right.count() < rules_.min_count) return;
    if (left.total.hessian < rules_.min_hessian || right.total.hessian < rules_.min_hessian) return;
    const double gain = rules_.gain(left.total, right.total, bounds_);
    if (!(gain > min_gain_) || !is_in_order(candidate, left.total, right.total)) return;
    const double score = rules_.criterion == Criterion::variance
                             ? gain
                             : -(rules_.mean_square_error(left) + rules_.mean_square_error(right));
    if (!found.takes(score)) return;
    Candidate taken = candidate;
    taken.gain = gain;
    taken.score = score;
    found.add(taken);
}

// Tries NULL on either side; without any NULL in the node, a NULL to come goes with the majority.
void SplitSearch::consider_both(Candidate& candidate, const NodeSums& left, const NodeSums& null,
                                Candidates& found) const {
    candidate.left = left;
    if (null.count() == 0) {
        candidate.null_left = left.count() >= node_.count() - left.count() - rules_.slack;
        consider(candidate, found);
        return;
    }
    candidate.left = left + null;
    candidate.null_left = true;
    consider(candidate, found);
    candidate.left = left;
    candidate.null_left = false;
    consider(candidate, found);
}

// Says whether gains alone decide which of a numeric feature's splits is taken.
bool SplitSearch::may_skip_splits(int feature) const {
    return rules_.criterion == Criterion::variance && rules_.l1 == 0 &&
           (directions_.empty() || directions_[feature] == 0);
}

GainRules SplitSearch::gain_rules() const {
    return {.sum = node_.total.sum,
            .hessian = node_.total.hessian,
            .count = node_.count(),
            .min_hessian = rules_.min_hessian,
            .min_count = rules_.min_count,
            .hessian_unit = rules_.hessian_unit,
            .l2 = rules_.l2,
            .lower = bounds_.lower,
            .upper = bounds_.upper};
}

// Returns the least of some splits' gains that is worth a look.
static double least_of_interest(const GainRules& rules, GainBlock& block) {
    constexpr double margin = 3 * relative_tie; // a tie, and what gains differ by that are computed otherwise
    return find_gains(rules, block) * (1 - margin);
}

template <class Bins>
void SplitSearch::scan_blocks(int feature, const Bins& bins, NodeSums before, NodeSums null, Candidates& found) const {
    const int64_t known = node_.count() - null.count();
    const bool has_null = null.count() > 0;
    const GainRules rules = gain_rules();
    GainBlock without, with; // NULL on the left
    uint32_t places[gain_block];
    NodeSums left = before;
    for (size_t i = bins.begin(); i < bins.end();) {
        size_t splits = 0;
        for (; i < bins.end() && splits < gain_block; i++) {
            left = left + bins.sums(i);
            places[splits] = bins.bin(i);
            without.sums[splits] = left.total.sum;
            without.hessians[splits] = left.total.hessian;
            without.counts[splits] = left.count();
            splits += bins.occupied(i) && left.count() != known;
        }
        without.splits = splits;
        double least = least_of_interest(rules, without);
        if (has_null) {
            with.splits = splits;
            for (size_t s = 0; s < splits; s++) {
                with.sums[s] = without.sums[s] + null.total.sum;
                with.hessians[s] = without.hessians[s] + null.total.hessian;
                with.counts[s] = without.counts[s] + null.count();
            }
            least = std::max(least, least_of_interest(rules, with));
        }
        for (size_t s = 0; s < splits; s++) {
            if (!(without.gains[s] >= least) && !(has_null && with.gains[s] >= least)) continue;
            Candidate candidate;
            candidate.feature = feature;
            candidate.last = places[s];
            const NodeSums sums({without.sums[s], without.hessians[s]}, {0, without.counts[s]});
            consider_both(candidate, sums, null, found);
        }
    }
}

template <class Bins>
void SplitSearch::scan_numbers(int feature, const Bins& bins, NodeSums before, NodeSums null, Candidates& found) const {
    const int64_t known = node_.count() - null.count();
    Candidate candidate;
    candidate.feature = feature;
    if (before.count() == 0 && null.count() > 0 && known > 0) {
        candidate.left = null;
        candidate.null_left = true;
        consider(candidate, found);
    }
    if (may_skip_splits(feature)) return scan_blocks(feature, bins, before, null, found);
    NodeSums left = before;
    for (size_t i = bins.begin(); i < bins.end(); i++) {
        if (!bins.occupied(i)) continue;
        left = left + bins.sums(i);
        if (left.count() == known) return;
        candidate.last = bins.bin(i);
        consider_both(candidate, left, null, found);
    }
}

static constexpr size_t steps_per_poll = 65536;

// Sorts by mean residual in steps of a billionth of the largest, then by code: means that differ by rounding are equal.
static void sort_by_mean(std::vector<BinSums>& cells, RunContext& context) {
    const auto mean = [](const BinSums& cell) {
        return static_cast<double>(cell.sums.total.sum) / static_cast<double>(cell.sums.total.hessian);
    };
    double largest = 0;
    for (const BinSums& cell : cells) largest = std::max(largest, std::fabs(mean(cell)));
    if (largest == 0) return;
    const auto step = [&](const BinSums& cell) { return std::llrint(mean(cell) / largest / relative_tie); };
    size_t comparisons = 0;
    std::sort(cells.begin(), cells.end(), [&](const BinSums& a, const BinSums& b) {
        if (++comparisons % steps_per_poll == 0) context.poll();
        const auto x = step(a), y = step(b);
        return x != y ? x < y : a.bin < b.bin;
    });
}

// The best subset is a prefix of the categories in the order of their mean residuals (Fisher 1958; Breiman et al.
// 1984). The complement of a prefix is another split only if it leaves rare categories on the other side, or if the
// prefix has too many categories.
template <class Bins>
void SplitSearch::scan_categories(int feature, const Bins& bins, NodeSums null, std::vector<BinSums>& order,
                                  Candidates& found, RunContext& context) const {
    order.clear();
    bool has_rare = false;
    for (size_t i = bins.begin(); i < bins.end(); i++) {
        if (!bins.occupied(i)) continue;
        const NodeSums sums = bins.sums(i);
        if (sums.count() < rules_.min_category_count)
            has_rare = true;
        else
            order.push_back({bins.bin(i), sums});
    }
    sort_by_mean(order, context);
    const int64_t known = node_.count() - null.count();
    Candidate candidate;
    candidate.feature = feature;
    candidate.last = 0;
    if (null.count() > 0 && known > 0) {
        candidate.left = null;
        candidate.null_left = true;
        consider(candidate, found);
    }
    const size_t most = std::min(order.size(), rules_.max_split_categories);
    const auto scan = [&](int direction, auto cell) {
        NodeSums left;
        for (size_t i = 0; i < most; i++, ++cell) {
            if (i % steps_per_poll == steps_per_poll - 1) context.poll();
            left = left + cell->sums;
            if (left.count() == known) return;
            candidate.last = direction * static_cast<int64_t>(i + 1);
            consider_both(candidate, left, null, found);
        }
    };
    scan(1, order.cbegin());
    if (has_rare || most + 1 < order.size()) scan(-1, order.crbegin());
}

template void SplitSearch::scan_numbers(int, const DenseBins&, NodeSums, NodeSums, Candidates&) const;
template void SplitSearch::scan_numbers(int, const SparseBins&, NodeSums, NodeSums, Candidates&) const;
template void SplitSearch::scan_categories(int, const DenseBins&, NodeSums, std::vector<BinSums>&, Candidates&,
                                           RunContext&) const;
template void SplitSearch::scan_categories(int, const SparseBins&, NodeSums, std::vector<BinSums>&, Candidates&,
                                           RunContext&) const;

} // namespace btml::boosting
