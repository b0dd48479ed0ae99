#include "core/exemplar/points.hpp"

#include "core/base/rng.hpp"

#include <algorithm>
#include <numeric>

namespace btml::exemplar {

PointSet::PointSet(Keep keep, MemoryBudget& budget)
    : keep_(keep),
      numbers_(budget, "points"),
      x_(budget, "points"),
      targets_(budget, "points"),
      weights_(budget, "points") {}

void PointSet::put(size_t i, const Point& point) {
    if (i == 0 && size() <= 1) width_ = point.x.size();
    if (point.x.size() != width_)
        throw Error(ErrorCode::invalid_argument,
                    format("a point has %zu coordinates, an earlier one has %zu", point.x.size(), width_));
    if (i == size()) {
        numbers_.push_back(0), targets_.push_back(0), weights_.push_back(0);
        x_.reserve(x_.size() + width_);
        x_.resize(x_.size() + width_);
        if (!point.value.empty()) values_.emplace_back(budget(), "points");
        if (keep_ == Keep::all) ids_.emplace_back(), has_id_.push_back(false);
    }
    numbers_[i] = point.number, targets_[i] = point.target, weights_[i] = point.weight;
    std::copy(point.x.begin(), point.x.end(), x_.data() + i * width_);
    if (!point.value.empty()) {
        values_[i].resize(point.value.size());
        std::copy(point.value.begin(), point.value.end(), values_[i].data());
    }
    if (keep_ == Keep::all) ids_[i] = point.id, has_id_[i] = point.has_id;
}

void PointSet::clear() {
    numbers_.resize(0), x_.resize(0), targets_.resize(0), weights_.resize(0);
    values_.clear(), ids_.clear(), has_id_.clear();
}

Point PointSet::operator[](size_t i) const {
    Point point{numbers_[i], x(i), value(i), targets_[i], weights_[i], {}, false};
    if (keep_ == Keep::all) point.id = ids_[i], point.has_id = has_id_[i];
    return point;
}

double PointSet::total_weight() const {
    return std::accumulate(weights_.begin(), weights_.end(), 0.0);
}

void Reservoir::offer(const Point& point) {
    const uint64_t n = ++offered_;
    if (points_.size() < capacity_) return points_.append(point);
    const auto place = static_cast<uint64_t>(static_cast<unsigned __int128>(random_bits(seed_, stream_, n)) * n >> 64);
    if (place < capacity_) points_.put(place, point);
}

} // namespace btml::exemplar
