#include "core/kernel/kernel_points.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace btml::kernel {

static void check_finite(std::span<const double> numbers, const char* what, size_t row) {
    double sum = 0; // not finite if any number is not; of numbers that are, only by overflow
    for (const double x : numbers) sum += x;
    if (std::isfinite(sum)) return;
    for (const double x : numbers)
        if (!std::isfinite(x))
            throw Error(ErrorCode::out_of_range, format("row %zu of the %s has a number that is %s", row + 1, what,
                                                        std::isnan(x) ? "NaN" : "infinite"));
}

Points::Points(size_t dimensions, MemoryBudget& budget, const char* what)
    : dimensions_(dimensions), coordinates_(budget, what) {
    if (dimensions == 0) throw Error(ErrorCode::invalid_argument, format("the %s have no coordinates", what));
}

void Points::append(std::span<const double> coordinates) {
    const size_t row = rows();
    if (coordinates.size() != dimensions_)
        throw Error(ErrorCode::invalid_argument,
                    format("row %zu of the %s has %zu coordinates, the rows before have %zu", row + 1, what(),
                           coordinates.size(), dimensions_));
    check_finite(coordinates, what(), row);
    if (row >= UINT32_MAX - 1)
        throw Error(ErrorCode::limit_exceeded, format("at most %u %s can be summed over", UINT32_MAX - 1, what()));
    coordinates_.reserve(coordinates_.size() + dimensions_);
    for (const double x : coordinates)
        coordinates_.append_reserved(x == 0 ? 0.0 : x); // no −0: equal points are equal bits
}

Keys::Keys(size_t dimensions, size_t columns_of_values, MemoryBudget& budget)
    : points(dimensions, budget, "keys"), columns(columns_of_values), values(budget, "values of the keys") {}

void Keys::append(std::span<const double> coordinates, std::span<const double> of_key) {
    if (of_key.size() != columns)
        throw Error(ErrorCode::invalid_argument, format("row %zu of the keys has %zu values, the rows before have %zu",
                                                        rows() + 1, of_key.size(), columns));
    check_finite(of_key, points.what(), rows());
    points.append(coordinates);
    values.reserve(values.size() + columns);
    for (const double x : of_key) values.append_reserved(x);
}

} // namespace btml::kernel
