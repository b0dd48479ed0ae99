// A row of a source is a point; sets of them are kept in memory.
#pragma once

#include "core/base/buffer.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace btml::exemplar {

// Counts work as RunContext::worked() does: a row may have many coordinates, and meet all exemplars.
inline constexpr uint64_t units_of_row = 4096;

struct Point {
    uint64_t number = 0;                   // counts the rows, from 0
    std::span<const double> x = {};        // has its coordinates; none where only a function knows what the row is
    std::span<const std::byte> value = {}; // is what a function takes, if one is to say the dissimilarity
    double target = 0;
    double weight = 1;
    std::string_view id = {};
    bool has_id = false;
    bool stands_for_others = false; // says that its weight is that of other rows, too
};

// Says how unlike `exemplar` the row is: from 0 to the largest float. It is called on the main thread only.
class DissimilarityFunction {
  public:
    virtual ~DissimilarityFunction() = default;
    virtual double operator()(std::span<const std::byte> row, std::span<const std::byte> exemplar) = 0;
};

// Holds points by number, each of them replaceable. All have the same number of coordinates.
class PointSet {
  public:
    enum class Keep { sample, all }; // `all` keeps ids as well

    PointSet(Keep keep, MemoryBudget& budget);

    size_t size() const { return kept_.size(); }
    size_t width() const { return width_; }
    // Puts a copy in place i, or at the end. Throws invalid_argument for another number of coordinates.
    void put(size_t i, const Point& point);
    void append(const Point& point) { put(size(), point); }
    void clear();
    void swap(size_t i, size_t j);
    // Returns a view, valid until the set changes.
    Point operator[](size_t i) const;
    std::span<const double> x(size_t i) const { return {x_.data() + i * width_, width_}; }
    uint64_t number(size_t i) const { return kept_[i].number; }
    std::string_view id(size_t i) const { return {ids_[i].data(), ids_[i].size()}; } // needs Keep::all
    bool has_id(size_t i) const { return kept_[i].has_id; }
    void set_weight(size_t i, double weight) { kept_[i].weight = weight; }
    void let_stand_for_others(size_t i) { kept_[i].stands_for_others = true; }
    bool stands_for_others(size_t i) const { return kept_[i].stands_for_others; }
    double target(size_t i) const { return kept_[i].target; }
    double weight(size_t i) const { return kept_[i].weight; }
    std::span<const std::byte> value(size_t i) const {
        return values_.empty() ? std::span<const std::byte>{} : values_[i].span();
    }
    double total_weight() const;
    MemoryBudget& budget() const { return kept_.budget(); }

  private:
    // Holds what every point has besides its coordinates.
    struct Kept {
        uint64_t number;
        double target, weight;
        bool has_id, stands_for_others;
    };

    Keep keep_;
    size_t width_ = 0;
    Buffer<Kept> kept_;
    Buffer<double> x_;
    Reservation held_; // counts what the vectors of buffers take besides
    std::vector<Buffer<std::byte>> values_;
    std::vector<Buffer<char>> ids_;
};

} // namespace btml::exemplar
