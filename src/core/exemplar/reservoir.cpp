#include "core/exemplar/reservoir.hpp"

#include "core/numbers/rng.hpp"

#include <algorithm>
#include <cmath>

namespace btml::exemplar {

namespace {

constexpr uint64_t shuffled = 0x73687566666c65; // "shuffle"
constexpr double max_ratio = 1e30;              // of a dissimilarity to the average: sizes stay numbers
constexpr double large = 2;                     // times what the others count for on average

} // namespace

SizeMeasure::SizeMeasure(const Options& options)
    : by_distance_(!options.is_gp() && options.metric != Metric::cosine && options.metric != Metric::function),
      metric_(options.metric) {}

double SizeMeasure::dissimilarity(std::span<const double> x) const {
    double sum = 0;
    for (size_t f = 0; f < x.size(); f++) {
        const double difference = std::abs(x[f] - mean_[f]);
        sum += metric_ == Metric::manhattan ? difference : difference * difference;
    }
    return metric_ == Metric::euclidean ? std::sqrt(sum) : sum;
}

double SizeMeasure::of(const Point& point) {
    if (!by_distance_) return point.weight;
    if (weights_ == 0) mean_.assign(point.x.begin(), point.x.end());
    if (mean_.size() != point.x.size()) return point.weight; // the sample refuses such a point
    const double distance = dissimilarity(point.x);
    const double ratio = average_ > 0 ? std::min(distance / average_, max_ratio) : 0;
    weights_ += point.weight;
    const double part = point.weight / weights_;
    if (std::isfinite(distance)) average_ += part * (distance - average_);
    for (size_t f = 0; f < mean_.size(); f++) mean_[f] += part * (point.x[f] - mean_[f]);
    return point.weight * (1 + (std::isnan(ratio) ? max_ratio : ratio));
}

Reservoir::Reservoir(size_t capacity, uint64_t seed, uint64_t stream, MemoryBudget& budget)
    : capacity_(capacity),
      seed_(seed),
      stream_(stream),
      points_(PointSet::Keep::sample, budget),
      sizes_(budget, "points"),
      priorities_(budget, "points") {}

void Reservoir::offer(const Point& point, double size) {
    const double priority = size / (1 - random_unit(seed_, stream_, ++offered_));
    size_t place = points_.size();
    if (place == capacity_) {
        const Priority least = priorities_[0];
        threshold_ = std::max(threshold_, std::min(priority, least.value));
        if (priority <= least.value) return;
        std::pop_heap(priorities_.begin(), priorities_.end());
        place = least.place;
        priorities_[capacity_ - 1] = {priority, place};
        sizes_[place] = size;
    } else {
        priorities_.push_back({priority, place});
        sizes_.push_back(size);
    }
    points_.put(place, point);
    std::push_heap(priorities_.begin(), priorities_.end());
}

void Reservoir::finish() {
    for (size_t i = 0; i < points_.size(); i++)
        if (probability(i) < 1) {
            points_.set_weight(i, points_.weight(i) / probability(i));
            points_.let_stand_for_others(i);
        }
}

// Rows of a weighted sample that were not sure to be in it count for the same, its threshold; others may count for
// anything.
size_t Reservoir::put_large_first(RunContext& context) {
    const size_t count = points_.size();
    Buffer<double> rising(points_.budget(), "points", count);
    for (size_t i = 0; i < count; i++) rising[i] = counted_size(i);
    std::sort(rising.begin(), rising.end(), [&context](double a, double b) {
        context.worked(1);
        return a < b;
    });
    size_t others = 0;
    double sum = 0;
    for (size_t i = 0; i < count; sum += rising[i++])
        if (!(rising[i] * i > large * sum)) others = i + 1;
    if (others == count) return 0;
    const double least = rising[others];
    size_t place = 0;
    for (size_t i = 0; i < count; i++)
        if (counted_size(i) >= least) swap(i, place++), context.worked(points_.width());
    return place;
}

void Reservoir::swap(size_t i, size_t j) {
    points_.swap(i, j);
    std::swap(sizes_[i], sizes_[j]);
}

size_t Reservoir::shuffle(RunContext& context) {
    const size_t first = put_large_first(context);
    RandomStream random(seed_, stream_ + shuffled);
    for (size_t left = points_.size() - first; left > 1; left--) {
        swap(first + left - 1, first + random.below(left));
        context.worked(points_.width() + 10);
    }
    return first;
}

} // namespace btml::exemplar
