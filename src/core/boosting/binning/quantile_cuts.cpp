#include "core/boosting/binning/quantile_cuts.hpp"

#include "core/base/error.hpp"

#include <algorithm>

namespace btml::boosting {

namespace {

// Holds distinct keys, ascending.
struct KeySet : std::vector<uint64_t> {
    KeySet& operator+=(const KeySet& other) {
        KeySet all;
        std::set_union(begin(), end(), other.begin(), other.end(), std::back_inserter(all));
        return *this = std::move(all);
    }
};

// A value, with the weight of values up to it, and of itself.
struct Point {
    uint64_t key, up_to, own;
};

uint64_t weight_of(const WeightedValues& values) {
    return values.up_to.empty() ? 0 : values.up_to[values.up_to.size() - 1];
}

// Knows some of the values, and of the gaps between them what they weigh.
class KnownPoints {
  public:
    KnownPoints(Peers& peers, const WeightedValues& own, size_t max_bins)
        : peers_(peers), own_(own), max_bins_(max_bins), all_(weight_of(own)) {
        KeySet first = spread(0, own_.keys.size(), 4 * max_bins);
        first += frequent_here();
        peers_.add_up(all_);
        learn(std::move(first));
    }

    // Cuts at the points that are known; gaps: those in which a cut may lie, which are not cut.
    // What is unknown of a gap does not matter as long as its values, taken together, neither fill a bin nor begin one.
    // Else bins are filled as if the gap had a value wherever it takes one, which is where they will be filled, or
    // nearly so.
    std::vector<Cut> cut(std::vector<size_t>& gaps) const {
        uint128 shared = all_;
        size_t frequent = 0;
        for (const Point& point : points_) {
            if (!is_frequent(point)) continue;
            frequent++;
            shared -= point.own;
        }
        BinFiller bins(max_bins_, frequent, shared);
        std::vector<Cut> cuts;
        for (size_t i = 0; i < points_.size(); i++) {
            const uint64_t unknown = inside(i);
            bool in_gap = false;
            for (uint64_t rest = unknown; rest > 0;) {
                const auto value = static_cast<uint64_t>(std::min<uint128>(rest, bins.weight_to_fill()));
                in_gap = bins.add(value, false) || bins.is_full() || in_gap;
                rest -= value;
            }
            if (bins.add(points_[i].own, is_frequent(points_[i]))) {
                in_gap = in_gap || unknown > 0;
                if (!in_gap) cuts.push_back({points_[i - 1].key, points_[i].key});
            }
            if (in_gap) gaps.push_back(i);
        }
        return cuts;
    }

    // Learns about values within some gaps.
    void refine(const std::vector<size_t>& gaps) {
        KeySet keys;
        for (const size_t gap : with_neighbours(gaps)) {
            const auto begin = gap == 0 ? own_.keys.begin()
                                        : std::upper_bound(own_.keys.begin(), own_.keys.end(), points_[gap - 1].key);
            const auto end = std::lower_bound(begin, own_.keys.end(), points_[gap].key);
            const KeySet inside = spread(begin - own_.keys.begin(), end - own_.keys.begin(), points_per_gap);
            keys.insert(keys.end(), inside.begin(), inside.end());
        }
        learn(std::move(keys));
    }

  private:
    static constexpr size_t points_per_gap = 16, neighbours = 1;

    // Picks some of the values [begin, end), the last one included.
    KeySet spread(size_t begin, size_t end, size_t most) const {
        KeySet keys;
        const size_t count = std::min(most, end - begin);
        for (size_t i = 1; i <= count; i++) keys.push_back(own_.keys[begin + (end - begin) * i / count - 1]);
        return keys;
    }

    // Values that are frequent among all processes are among the frequent ones of one of them.
    KeySet frequent_here() const {
        KeySet keys;
        uint64_t before = 0;
        for (size_t i = 0; i < own_.keys.size(); i++) {
            if (boosting::is_frequent(own_.up_to[i] - before, weight_of(own_), max_bins_)) keys.push_back(own_.keys[i]);
            before = own_.up_to[i];
        }
        return keys;
    }

    // A cut may turn out to lie in the next gap.
    std::vector<size_t> with_neighbours(const std::vector<size_t>& gaps) const {
        std::vector<size_t> wider;
        for (const size_t gap : gaps)
            for (size_t i = std::max(gap, neighbours) - neighbours; i < std::min(points_.size(), gap + neighbours + 1);
                 i++)
                if (inside(i) > 0 && (wider.empty() || wider.back() < i)) wider.push_back(i);
        return wider;
    }

    void learn(KeySet keys) {
        peers_.add_up(keys);
        SumList<uint64_t> weights; // of each key those up to it, and its own
        for (const uint64_t key : keys) {
            const Point here = weigh(key);
            weights.insert(weights.end(), {here.up_to, here.own});
        }
        peers_.add_up(weights);
        if (weights.size() != 2 * keys.size()) refuse_message();
        for (size_t i = 0; i < keys.size(); i++) points_.push_back({keys[i], weights[2 * i], weights[2 * i + 1]});
        std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) { return a.key < b.key; });
        const auto is_same = [](const Point& a, const Point& b) { return a.key == b.key; };
        points_.erase(std::unique(points_.begin(), points_.end(), is_same), points_.end());
        uint64_t before = 0;
        for (const Point& point : points_) {
            if (point.own > point.up_to || point.up_to - point.own < before || point.up_to > all_) refuse_message();
            before = point.up_to;
        }
    }

    // Weighs by the values here.
    Point weigh(uint64_t key) const {
        const auto after = std::upper_bound(own_.keys.begin(), own_.keys.end(), key) - own_.keys.begin();
        if (after == 0) return {key, 0, 0};
        const uint64_t up_to = own_.up_to[after - 1];
        if (own_.keys[after - 1] != key) return {key, up_to, 0};
        return {key, up_to, up_to - (after > 1 ? own_.up_to[after - 2] : 0)};
    }

    // The weight between a point and the one before.
    uint64_t inside(size_t gap) const {
        return points_[gap].up_to - points_[gap].own - (gap > 0 ? points_[gap - 1].up_to : 0);
    }
    bool is_frequent(const Point& point) const { return boosting::is_frequent(point.own, all_, max_bins_); }

    Peers& peers_;
    const WeightedValues& own_;
    const size_t max_bins_;
    uint64_t all_; // the weight of all values
    std::vector<Point> points_;
};

} // namespace

std::vector<Cut> cuts_among(Peers& peers, const WeightedValues& own, size_t max_bins, size_t most_bins,
                            uint64_t& distinct) {
    const size_t bins = max_bins > 0 ? std::min(max_bins, most_bins) : most_bins;
    KeySet few;
    few.assign(own.keys.begin(), own.keys.begin() + static_cast<std::ptrdiff_t>(std::min(bins + 1, own.keys.size())));
    peers.add_up(few);
    distinct = std::min(few.size(), bins + 1);
    std::vector<Cut> cuts;
    if (distinct <= bins) {
        for (size_t i = 1; i < few.size(); i++) cuts.push_back({few[i - 1], few[i]});
        return cuts;
    }
    if (max_bins == 0 || max_bins > most_bins)
        throw Error(ErrorCode::not_supported,
                    format("feature \"%s\" has more than %zu distinct values, too many for rows on several machines",
                           own.feature.c_str(), most_bins),
                    {}, format("Set max_bins to %zu or less.", most_bins));
    KnownPoints known(peers, own, max_bins);
    for (std::vector<size_t> gaps;; gaps.clear()) {
        cuts = known.cut(gaps);
        if (gaps.empty()) return cuts;
        known.refine(gaps);
    }
}

} // namespace btml::boosting
