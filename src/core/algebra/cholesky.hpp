// Factorises a symmetric positive definite matrix.
#pragma once

#include "core/algebra/blocks.hpp"
#include "core/base/buffer.hpp"
#include "core/base/threads.hpp"

namespace btml::algebra {

// Works on blocks whose order does not depend on the threads, and polls between them.
class Cholesky {
  public:
    // Takes a matrix of size × size numbers, row by row, and reads its lower triangle. Throws out_of_range when it is
    // not positive definite.
    Cholesky(Buffer<double> matrix, size_t size, ThreadTeam& team);

    double log_determinant() const;
    // Puts the solution for a right-hand side in its place.
    void solve(double* x, ThreadTeam& team) const;
    // Puts L⁻¹x or L'⁻¹x, of the factor L, in the place of a matrix of size × columns numbers, row by row.
    void solve_lower(double* x, size_t columns, ThreadTeam& team) const;
    void solve_upper(double* x, size_t columns, ThreadTeam& team) const;
    // Returns L, in the lower triangle, row by row.
    const double* factor() const { return factor_.data(); }
    Buffer<double> take_factor() && { return std::move(factor_); }
    // Writes the inverse of the matrix, row by row.
    void invert(double* to, ThreadTeam& team) const;

  private:
    void eliminate(size_t step, ThreadTeam& team);

    size_t size_, steps_;
    Buffer<double> factor_; // has the lower triangle
};

} // namespace btml::algebra
