#include "core/exemplar/points.hpp"

#include <algorithm>
#include <numeric>

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
    : keep_(keep),
      numbers_(budget, "points"),
      x_(budget, "points"),
      targets_(budget, "points"),
      weights_(budget, "points"),
      held_(budget, "points") {}

void PointSet::put(size_t i, const Point& point) {
    if (i == 0 && size() <= 1) width_ = point.x.size();
    if (point.x.size() != width_)
        throw Error(ErrorCode::invalid_argument,
                    format("a point has %zu coordinates, an earlier one has %zu", point.x.size(), width_));
    if (i == size()) {
        numbers_.push_back(0), targets_.push_back(0), weights_.push_back(0), stands_for_others_.push_back(false);
        x_.reserve(x_.size() + width_);
        x_.resize(x_.size() + width_);
        if (!point.value.empty()) count_one_more(values_, held_), values_.emplace_back(budget(), "points");
        if (keep_ == Keep::all) {
            count_one_more(ids_, held_);
            ids_.emplace_back(budget(), "points"), has_id_.push_back(false);
        }
    }
    numbers_[i] = point.number, targets_[i] = point.target, weights_[i] = point.weight;
    stands_for_others_[i] = point.stands_for_others;
    std::copy(point.x.begin(), point.x.end(), x_.data() + i * width_);
    if (!point.value.empty()) assign(values_[i], point.value);
    if (keep_ == Keep::all) assign<char>(ids_[i], point.id), has_id_[i] = point.has_id;
}

void PointSet::clear() {
    numbers_.resize(0), x_.resize(0), targets_.resize(0), weights_.resize(0);
    values_.clear(), ids_.clear(), has_id_.clear(), stands_for_others_.clear();
}

void PointSet::swap(size_t i, size_t j) {
    if (i == j) return;
    std::swap(numbers_[i], numbers_[j]), std::swap(targets_[i], targets_[j]), std::swap(weights_[i], weights_[j]);
    std::swap_ranges(x_.data() + i * width_, x_.data() + (i + 1) * width_, x_.data() + j * width_);
    if (!values_.empty()) std::swap(values_[i], values_[j]);
    std::vector<bool>::swap(stands_for_others_[i], stands_for_others_[j]);
    if (keep_ != Keep::all) return;
    std::swap(ids_[i], ids_[j]);
    std::vector<bool>::swap(has_id_[i], has_id_[j]);
}

Point PointSet::operator[](size_t i) const {
    Point point{numbers_[i], x(i), value(i), targets_[i], weights_[i], {}, false, stands_for_others_[i]};
    if (keep_ == Keep::all) point.id = id(i), point.has_id = has_id_[i];
    return point;
}

double PointSet::total_weight() const {
    return std::accumulate(weights_.begin(), weights_.end(), 0.0);
}

} // namespace btml::exemplar
