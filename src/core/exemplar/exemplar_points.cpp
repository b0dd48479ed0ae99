#include "core/exemplar/exemplar_points.hpp"

#include <algorithm>

namespace btml::exemplar {

namespace {

template <class T>
void assign(Buffer<T>& to, std::span<const T> from) {
    to.resize(from.size());
    std::copy(from.begin(), from.end(), to.begin());
}

// Makes room for one more, counted before it is taken.
template <class T>
void count_one_more(std::vector<T>& items, Reservation& held) {
    if (items.size() < items.capacity()) return;
    const size_t capacity = std::max<size_t>(2 * items.size(), 16);
    held.grow((capacity - items.capacity()) * sizeof(T));
    items.reserve(capacity);
}

} // namespace

PointSet::PointSet(Keep keep, MemoryBudget& budget)
    : keep_(keep), kept_(budget, "points"), x_(budget, "points"), held_(budget, "points") {}

void PointSet::put(size_t i, const Point& point) {
    if (i == 0 && size() <= 1) width_ = point.x.size();
    if (point.x.size() != width_)
        throw Error(ErrorCode::invalid_argument,
                    format("a point has %zu coordinates, an earlier one has %zu", point.x.size(), width_));
    if (i == size()) {
        kept_.push_back({});
        x_.reserve(x_.size() + width_);
        x_.resize(x_.size() + width_);
        if (!point.value.empty()) count_one_more(values_, held_), values_.emplace_back(budget(), "points");
        if (keep_ == Keep::all) count_one_more(ids_, held_), ids_.emplace_back(budget(), "points");
    }
    kept_[i] = {point.number, point.target, point.weight, point.has_id, point.stands_for_others};
    std::copy(point.x.begin(), point.x.end(), x_.data() + i * width_);
    if (!point.value.empty()) assign(values_[i], point.value);
    if (keep_ == Keep::all) assign<char>(ids_[i], point.id);
}

void PointSet::clear() {
    kept_.resize(0), x_.resize(0), values_.clear(), ids_.clear();
}

void PointSet::swap(size_t i, size_t j) {
    if (i == j) return;
    std::swap(kept_[i], kept_[j]);
    std::swap_ranges(x_.data() + i * width_, x_.data() + (i + 1) * width_, x_.data() + j * width_);
    if (!values_.empty()) std::swap(values_[i], values_[j]);
    if (!ids_.empty()) std::swap(ids_[i], ids_[j]);
}

Point PointSet::operator[](size_t i) const {
    const auto& [number, target, weight, has_id, stands_for_others] = kept_[i];
    return {number, x(i), value(i), target, weight, ids_.empty() ? "" : id(i), has_id, stands_for_others};
}

double PointSet::total_weight() const {
    double sum = 0;
    for (const Kept& point : kept_) sum += point.weight;
    return sum;
}

} // namespace btml::exemplar
