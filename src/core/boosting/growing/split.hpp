// The best split of a node by exact sums per bin.
//
// With sums s of the residuals and h of the hessians (l2: λ), the gain of a split is
// s_L²/(h_L+λ) + s_R²/(h_R+λ) − s_v²/(h_v+λ), twice the decrease of the loss's second-order approximation: for squared
// loss, the decrease of the squared error. Where a value s/(h+λ) is out of bounds, or is penalised by l1, its term is
// what the value that the leaf will have decreases the approximation by. Gains within 1e-9 relative of the best are a
// tie (for criterion mse_sum, see SplitRules::error_tie), which the first feature wins, then the lowest threshold or
// the fewest categories (those with the least mean residuals before those with the largest), then NULL on the left.
#pragma once

#include "core/boosting/binning/binning.hpp"
#include "core/boosting/growing/gains.hpp"
#include "core/boosting/trees/boosting_model.hpp"

#include <cmath>
#include <span>

namespace btml::boosting {

// Gains or means that differ by less, relative to the larger, are a tie.
inline constexpr double relative_tie = 1e-9;

struct Split {
    int feature = -1; // −1: none
    double gain = 0;  // squared units of the grid; > 0
    NodeSums left;
    bool null_left = false;
    int64_t last_bin = -1;            // of a number: bins up to this one go left; −1: only NULL does
    std::vector<uint32_t> categories; // of a category: codes that go left, ascending
};

// Tells which bins of a split's feature go left.
class BinSides {
  public:
    explicit BinSides(RunContext& context) : categories_(context.memory(), "sides of categories") {}

    // body(goes_left): goes_left(bin) is 1 or 0.
    template <class Body>
    void with(const FeatureBins& feature, const Split& split, const Body& body) {
        if (!feature.categorical) {
            const auto limit = static_cast<uint32_t>(split.last_bin + 1);
            const uint32_t null = split.null_left ? feature.null_bin() : UINT32_MAX;
            body([=](uint32_t bin) -> size_t { return size_t{bin < limit} | size_t{bin == null}; });
            return;
        }
        if (categories_.size() < feature.size())
            categories_ = Buffer<uint8_t>(categories_.budget(), categories_.what(), feature.size(), 0);
        const auto mark = [&](uint8_t value) {
            for (const uint32_t code : split.categories) categories_[code] = value;
            categories_[feature.null_bin()] = value && split.null_left;
        };
        mark(1);
        body([sides = categories_.data()](uint32_t bin) -> size_t { return sides[bin]; });
        mark(0);
    }

  private:
    Buffer<uint8_t> categories_; // by bin; all zero between splits
};

// Bounds of a node's value before the learning rate, in units of the grid.
struct Bounds {
    double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();

    double clamp(double value) const { return std::clamp(value, lower, upper); }
};

// Says what makes a split admissible and good, in the units of the grid.
struct SplitRules {
    SplitRules(const Options& options, const SumUnits& units);

    double hessian(Stats sums) const { return sums.hessian * hessian_unit; }
    // The value of a leaf with these sums.
    double value(Stats sums, const Bounds& bounds) const;
    double gain(Stats left, Stats right, const Bounds& bounds) const;
    // Twice the decrease of the approximation by this value.
    double decrease(Stats sums, double value) const;
    double mean_square_error(const NodeSums& sums) const;
    // Gains up to this are none: min_gain, and what rounding could feign, however the join is held.
    double min_gain_of(Stats total) const;
    // Says whether the mean is what rounding could feign of 0.
    bool is_centred(Stats total) const;
    // Sums of mean squared errors of a node's two sides that differ by less are a tie.
    double error_tie(const NodeSums& node) const;
    bool may_split(int64_t count) const { return count >= min_count && count - min_count >= min_count; }

    Criterion criterion;
    double hessian_unit, l1, l2, min_gain, square_unit, first_square, rounding;
    Bounds steps; // what max_step leaves of values
    int64_t min_count, min_category_count, slack, min_hessian = 0;
    size_t max_split_categories;
};

struct Candidate {
    double score = 0; // to be maximised
    double gain = 0;
    NodeSums left;
    int feature = -1;
    int64_t last = -1; // last bin, or number of categories, on the left; negative: so many from the end of their order
    bool null_left = false;
};

// The candidates, given in the order in which ties are won, that can still turn out to be the first near the best.
class Candidates {
  public:
    // Scores within relative · best + absolute of the best are ties.
    Candidates(double relative, double absolute) : relative_(relative), absolute_(absolute) {}

    // Says whether add() would keep a candidate of this score.
    bool takes(double score) const { return kept_.empty() || score > kept_.back().score; }
    void add(const Candidate& candidate) {
        if (!takes(candidate.score)) return;
        kept_.push_back(candidate);
        const double least = candidate.score - absolute_ - relative_ * candidate.score;
        size_t drop = 0;
        while (kept_[drop].score < least) drop++;
        kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(drop));
    }
    void add(const Candidates& later) {
        for (const Candidate& candidate : later.kept_) add(candidate);
    }
    bool empty() const { return kept_.empty(); }
    bool ends_with(int feature) const { return !kept_.empty() && kept_.back().feature == feature; }
    const Candidate& winner() const { return kept_.front(); }

  private:
    double relative_, absolute_;
    std::vector<Candidate> kept_; // scores increase strictly
};

// Bins [from, to) of a feature's histogram; tallies empty: nowhere.
struct DenseBins {
    const Stats* stats;
    const Tally* tallies;
    size_t from, to;

    size_t begin() const { return from; }
    size_t end() const { return to; }
    uint32_t bin(size_t i) const { return static_cast<uint32_t>(i); }
    NodeSums sums(size_t i) const { return NodeSums(stats[i], tallies ? tallies + i : nullptr); }
    bool occupied(size_t i) const { return (tallies ? tallies[i].count : stats[i].hessian) > 0; }
};

struct BinSums {
    uint32_t bin;
    NodeSums sums;
};

// The occupied bins only, ascending.
struct SparseBins {
    std::span<const BinSums> cells;

    size_t begin() const { return 0; }
    size_t end() const { return cells.size(); }
    uint32_t bin(size_t i) const { return cells[i].bin; }
    NodeSums sums(size_t i) const { return cells[i].sums; }
    bool occupied(size_t) const { return true; }
};

// One node's search over its features, to be offered in ascending order.
class SplitSearch {
  public:
    // `directions` by feature: 1 where values must not fall from left to right, −1 where they must not grow; may be
    // null.
    SplitSearch(const SplitRules& rules, const NodeSums& node, const Bounds& bounds = {},
                std::span<const int8_t> directions = {});

    Candidates no_candidates() const;

    // A numeric feature's candidates from some of its bins: `before` sums those of lower bins, `null` is NULL's bin.
    template <class Bins>
    void scan_numbers(int feature, const Bins& bins, NodeSums before, NodeSums null, Candidates& found) const;
    // A categorical feature's, over all its bins but NULL's. Fills in the order of the categories that may go left.
    template <class Bins>
    void scan_categories(int feature, const Bins& bins, NodeSums null, std::vector<BinSums>& order, Candidates& found,
                         RunContext& context) const;

    // Either, over all bins of a feature.
    template <class Bins>
    void scan(int feature, bool categorical, const Bins& bins, NodeSums null, std::vector<BinSums>& order,
              Candidates& found, RunContext& context) const {
        if (categorical)
            scan_categories(feature, bins, null, order, found, context);
        else
            scan_numbers(feature, bins, {}, null, found);
    }

  private:
    // Offers a numeric feature's splits in blocks, and of each only those that can still be the first near the best.
    template <class Bins>
    void scan_blocks(int feature, const Bins& bins, NodeSums before, NodeSums null, Candidates& found) const;
    bool may_skip_splits(int feature) const;
    GainRules gain_rules() const;
    void consider(const Candidate& candidate, Candidates& found) const;
    void consider_both(Candidate& candidate, const NodeSums& left, const NodeSums& null, Candidates& found) const;

    bool is_in_order(const Candidate& candidate, Stats left, Stats right) const;

    const SplitRules& rules_;
    const NodeSums node_;
    const Bounds bounds_;
    const std::span<const int8_t> directions_;
    const double min_gain_;
    const double tolerance_;
};

} // namespace btml::boosting
