// Rows have sixteen numbers that go through the same pass together: what costs time is to reach the row.
#pragma once

#include <array>
#include <cstddef>

namespace btml::gp {

struct Columns {
    static constexpr size_t count = 16;
    // It may lie anywhere in memory, since it has the alignment of its elements.
    typedef float Vector __attribute__((vector_size(count * sizeof(float)), aligned(4)));

    Vector values;

    float operator[](size_t column) const { return values[column]; }
};

// Holds a number for each column.
using ColumnValues = std::array<double, Columns::count>;

// Holds eight columns in double precision, in as many bytes as sixteen in single precision.
struct DoubleColumns {
    static constexpr size_t count = 8;
    typedef double Vector __attribute__((vector_size(count * sizeof(double)), aligned(8)));

    Vector values;

    double operator[](size_t column) const { return values[column]; }
};

} // namespace btml::gp
