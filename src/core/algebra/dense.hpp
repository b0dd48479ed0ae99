// Matrices that are worked on block by block.
#pragma once

#include "core/algebra/blocks.hpp"

#include <algorithm>

namespace btml::algebra {

inline constexpr size_t block_side = 128; // of all but the last blocks

constexpr size_t blocks_of(size_t rows) {
    return (rows + block_side - 1) / block_side;
}

// The blocks of a matrix, row by row, whose rows are `stride` numbers apart, or as many as it has columns.
class Blocks {
  public:
    Blocks(const double* data, size_t rows, size_t columns) : Blocks(data, rows, columns, columns) {}
    Blocks(const double* data, size_t rows, size_t columns, size_t stride)
        : data_(const_cast<double*>(data)), rows_(rows), columns_(columns), stride_(stride) {}

    Block operator()(size_t i, size_t j) const {
        return {data_ + i * block_side * stride_ + j * block_side, std::min(block_side, rows_ - i * block_side),
                std::min(block_side, columns_ - j * block_side), stride_};
    }

  private:
    double* data_;
    size_t rows_, columns_, stride_;
};

// Mirrors the lower triangle of a square matrix, or replaces the matrix by its transpose.
inline void mirror_lower(double* matrix, size_t size) {
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < i; j++) matrix[j * size + i] = matrix[i * size + j];
}
inline void transpose(double* matrix, size_t size) {
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < i; j++) std::swap(matrix[j * size + i], matrix[i * size + j]);
}

} // namespace btml::algebra
