// Rows have sixteen numbers that go through the same pass together: what costs time is to reach the row.
#pragma once

#include <array>
#include <cstddef>

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

} // namespace btml::gp
