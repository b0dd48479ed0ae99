// Points as they are read: rows of coordinates.
#pragma once

#include "core/base/buffer.hpp"
#include "core/base/threads.hpp"

#include <span>

namespace btml::kernel {

class Points {
  public:
    // Error invalid_argument for 0 dimensions. `what` names the points in errors ("keys", "queries"); a string literal.
    Points(size_t dimensions, MemoryBudget& budget, const char* what);

    // Errors: invalid_argument for another number of coordinates, out_of_range for one that is NaN or infinite;
    // limit_exceeded beyond 2^32 − 2 rows.
    void append(std::span<const double> coordinates);

    void reserve(size_t rows) { coordinates_.reserve(rows * dimensions_); }
    size_t dimensions() const noexcept { return dimensions_; }
    size_t rows() const noexcept { return coordinates_.size() / dimensions_; }
    const double* row(size_t i) const noexcept { return coordinates_.data() + i * dimensions_; }
    double* row(size_t i) noexcept { return coordinates_.data() + i * dimensions_; }
    const char* what() const noexcept { return coordinates_.what(); }
    void clear() noexcept { coordinates_.clear(); }

  private:
    size_t dimensions_;
    Buffer<double> coordinates_; // row by row
};

// Keys with their values, `columns` of them each, row by row; see Quantity for what they are.
struct Keys {
    Keys(size_t dimensions, size_t columns_of_values, MemoryBudget& budget);

    // Errors as of Points::append, and out_of_range for a value that is NaN or infinite.
    void append(std::span<const double> coordinates, std::span<const double> of_key);
    size_t rows() const noexcept { return points.rows(); }

    Points points;
    size_t columns;
    Buffer<double> values;
};

// Calls body(row, thread) for each of so many rows, on the team.
template <class Body>
void for_each_row(size_t rows, ThreadTeam& team, const Body& body) {
    constexpr size_t rows_of_item = 1024;
    team.for_each((rows + rows_of_item - 1) / rows_of_item, [&](size_t item, int thread) {
        for (size_t i = item * rows_of_item; i < std::min(rows, (item + 1) * rows_of_item); i++) body(i, thread);
    });
}

} // namespace btml::kernel
