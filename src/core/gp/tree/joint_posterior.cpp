#include "core/gp/tree/joint_posterior.hpp"

#include "core/numbers/rng.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace btml::gp {

// Places the points in the order of their strings, in which the end of what is known comes after every bit, and goes
// down the trie with ranges of them that still share all levels.
class JointPosterior::Builder {
  public:
    Builder(JointPosterior& result, const Trie& trie, std::span<const String> points)
        : result_(result), trie_(trie), points_(points) {}

    void build(RunContext& context);

  private:
    struct Affine {
        double gain = 1, offset = 0, variance = 0;
    };
    // Points begin ≤ i < end of the order, on the edge above a node of the trie or at it (none: off the trie).
    struct Range {
        size_t begin, end, level;
        uint32_t parent, next;
    };

    const String& point(size_t place) const { return points_[order_[place]]; }
    size_t common_levels(const String& a, const String& b) const {
        return std::min({a.known, b.known, trie_.common_levels(a.words, b.words)});
    }
    bool less(const String& a, const String& b) const;
    void split(const Range& range);
    Affine descend(Range& range, size_t level) const;
    uint32_t add(const Affine& step, uint32_t parent);

    JointPosterior& result_;
    const Trie& trie_;
    const std::span<const String> points_;
    std::vector<uint32_t> order_;
    std::vector<uint16_t> shared_; // levels that the point in a place shares with the trie
    std::vector<Range> ranges_;    // to split yet
};

bool JointPosterior::Builder::less(const String& a, const String& b) const {
    const size_t common = common_levels(a, b);
    if (common == a.known || common == b.known) return a.known > b.known;
    return Trie::bit(b.words, common);
}

void JointPosterior::Builder::build(RunContext& context) {
    order_.resize(points_.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](uint32_t a, uint32_t b) { return less(points_[a], points_[b]); });
    context.for_each(points_.size(), 64, [&](size_t place) { shared_.push_back(trie_.shared_levels(point(place))); });
    result_.nodes_.push_back({0, 0, 0, 0, 0, 0});
    if (!points_.empty()) ranges_.push_back({0, points_.size(), 0, 0, trie_.root_});
    while (!ranges_.empty()) {
        context.worked(64);
        const Range range = ranges_.back();
        ranges_.pop_back();
        split(range);
    }
}

// Goes down to a level that all points of the range share.
JointPosterior::Builder::Affine JointPosterior::Builder::descend(Range& range, size_t level) const {
    const std::vector<double>& c = trie_.covariances_;
    const String& first = point(range.begin);
    const size_t on_trie = std::min<size_t>(level, shared_[range.begin]);
    Affine sum;
    while (range.next != Trie::none && range.level < on_trie) {
        const Trie::Node& node = trie_.nodes_[range.next];
        if (node.level == range.level) {
            range.next = node.child[Trie::bit(first.words, node.level)];
            continue;
        }
        const size_t down = std::min<size_t>(node.level, on_trie);
        const double edge = c[down] - c[range.level], variance = node.variance + (c[node.level] - c[down]);
        const double inverse = 1 / (edge + variance), gain = variance * inverse;
        sum = {gain * sum.gain, gain * sum.offset + edge * inverse * node.mean, gain * (gain * sum.variance + edge)};
        range.level = down;
    }
    if (on_trie < level) range.next = Trie::none;
    sum.variance += c[level] - c[range.level];
    range.level = level;
    return sum;
}

uint32_t JointPosterior::Builder::add(const Affine& step, uint32_t parent) {
    const Node& above = result_.nodes_[parent];
    const uint32_t node = result_.nodes_.size();
    result_.nodes_.push_back({step.gain, step.offset, step.variance, step.gain * above.mean + step.offset,
                              step.gain * step.gain * above.variance + step.variance, parent});
    return node;
}

void JointPosterior::Builder::split(const Range& all) {
    const size_t levels = trie_.kernel_.levels(), end = all.end;
    const size_t level =
        all.end - all.begin == 1 ? point(all.begin).known : common_levels(point(all.begin), point(end - 1));
    Range range = all;
    const Affine step = descend(range, level);
    range.parent = add(step, all.parent);
    const auto ends_here = [&](size_t place) { return point(place).known == level; };
    size_t place = range.begin;
    for (const bool right : {false, true}) {
        const size_t from = place;
        while (place < end && !ends_here(place) && Trie::bit(point(place).words, level) == right) place++;
        if (place == from) continue;
        // A point that shares this level with the trie stays on it.
        const bool on_trie = range.next != Trie::none && shared_[from] > level;
        ranges_.push_back({from, place, level, range.parent, on_trie ? range.next : Trie::none});
    }
    const double rest = trie_.covariances_[levels] - trie_.covariances_[level];
    for (; place < end; place++)
        result_.node_of_point_[order_[place]] = rest > 0 ? add({1, 0, rest}, range.parent) : range.parent;
}

JointPosterior::JointPosterior(const Trie& trie, std::span<const String> points, RunContext& context)
    : nodes_(context.memory(), "joint posterior"), node_of_point_(context.memory(), "joint posterior", points.size()) {
    Builder(*this, trie, points).build(context);
}

double JointPosterior::covariance(size_t point, size_t other) const {
    uint32_t a = node_of_point_[point], b = node_of_point_[other];
    double gain = 1;
    while (a != b) {
        uint32_t& later = a > b ? a : b;
        gain *= nodes_[later].gain;
        later = nodes_[later].parent;
    }
    return gain * nodes_[a].variance;
}

void JointPosterior::draw(uint64_t seed, uint64_t draw, std::span<double> values) const {
    std::vector<double> at(nodes_.size(), 0.0);
    for (size_t i = 1; i < nodes_.size(); i++) {
        const Node& node = nodes_[i];
        at[i] = node.gain * at[node.parent] + node.offset;
        if (node.step > 0) at[i] += std::sqrt(node.step) * random_normal(seed, draw, i);
    }
    for (size_t point = 0; point < points(); point++) values[point] = at[node_of_point_[point]];
}

} // namespace btml::gp
