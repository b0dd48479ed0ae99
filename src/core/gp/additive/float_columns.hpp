// Rows have sixteen numbers that go through the same pass together: what costs time is to reach the row.
#pragma once

#include "core/base/levels.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace btml::gp {

template <class Real, size_t columns>
struct ColumnsOf {
    static constexpr size_t count = columns;
    // It may lie anywhere in memory, since it has the alignment of its elements.
    typedef Real Vector __attribute__((vector_size(count * sizeof(Real)), aligned(sizeof(Real))));

    Vector values;

    Real operator[](size_t column) const { return values[column]; }
};

using Columns = ColumnsOf<float, 16>;
// Eight columns in double precision take as many bytes as sixteen in single precision.
using DoubleColumns = ColumnsOf<double, 8>;

// Holds a number for each column.
using ColumnValues = std::array<double, Columns::count>;

// Adds Σ over the rows of left's column c times right's column d to sums[16·c + d]: in single precision for some rows
// at a time, or in double precision.
BTML_DISPATCH(void, sum_roughly, (const Columns* left, const Columns* right, size_t rows, double* sums),
              (left, right, rows, sums));
BTML_DISPATCH(void, sum_exactly, (const Columns* left, const Columns* right, size_t rows, double* sums),
              (left, right, rows, sums));

// Adds x times sixteen rows of coefficients to y.
BTML_DISPATCH(void, add_combination, (const Columns* x, const Columns* coefficients, size_t rows, Columns* y),
              (x, coefficients, rows, y));

// A number in the upper half of its bits is a bfloat16: the nearest one, even where two are as near.
inline uint16_t upper_half(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

inline float from_upper_half(uint16_t half) {
    return std::bit_cast<float>(uint32_t{half} << 16);
}

// Adds near · upper[s] + far · lower[s] to each of the sums.
BTML_DISPATCH(void, add_deviations,
              (const uint16_t* upper, const uint16_t* lower, float near, float far, size_t count, float* sums),
              (upper, lower, near, far, count, sums));

} // namespace btml::gp
