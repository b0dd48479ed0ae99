// Factorises a symmetric positive definite matrix.
#pragma once

#include "core/base/buffer.hpp"
#include "core/base/threads.hpp"
#include "core/exemplar/product.hpp"

namespace btml::exemplar {

class Cholesky {
  public:
    // Takes a matrix of size × size numbers, row by row, and reads its lower triangle. Throws out_of_range when it is
    // not positive definite.
    Cholesky(Buffer<double> matrix, size_t size, ThreadTeam& team);

    double log_determinant() const;
    // Puts the solutions for eight right-hand sides in their place: x[i * 8 + c].
    void solve(double* x) const;
    // Writes the inverse of the matrix, row by row.
    void invert(double* to, ThreadTeam& team) const;

  private:
    void factor_block(size_t first, ThreadTeam& team);
    void factor_diagonal(size_t first, size_t last);
    void solve_rows(size_t first, size_t last, size_t row, size_t rows_end);

    size_t size_;
    Buffer<double> lower_, upper_; // are the factor and its transpose
};

} // namespace btml::exemplar
