// Holds the Cholesky factor of a small symmetric matrix, and solves for sixteen right-hand sides at once. It is by
// hand, because Eigen's LLT stops at a row that depends on those above, and adds sums up in an order of the processor's
// vectors, where a fit gives the same bits on every processor.
#pragma once

#include "core/gp/additive/columns.hpp"

#include <vector>

namespace btml::gp {

class SmallCholesky {
  public:
    // Factors size × size numbers, row by row, of which it reads the lower triangle. The matrix may be singular: a row
    // that depends on those above gets an infinite pivot, so that its part of every solution is 0.
    SmallCholesky(std::vector<double> matrix, size_t size);

    size_t size() const noexcept { return size_; }
    // x becomes L⁻¹x, or L'⁻¹x.
    void solve_lower(std::vector<ColumnValues>& x) const;
    void solve_upper(std::vector<ColumnValues>& x) const;

  private:
    std::vector<double> factor_;
    size_t size_;
};

} // namespace btml::gp
