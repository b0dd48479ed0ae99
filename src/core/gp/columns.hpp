// Sixteen numbers per row that go through the same pass together: what costs time is to reach the row.
#pragma once

#include <cstddef>

namespace btml::gp {

struct Columns {
    static constexpr size_t count = 16;
    // Anywhere in memory: of the alignment of its elements.
    typedef float Vector __attribute__((vector_size(count * sizeof(float)), aligned(4)));

    Vector values;

    float operator[](size_t column) const { return values[column]; }
};

} // namespace btml::gp
