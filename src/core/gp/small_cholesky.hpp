// The Cholesky factor of a small symmetric matrix, for sixteen right-hand sides at once.
#pragma once

#include "core/gp/columns.hpp"

#include <vector>

namespace btml::gp {

class SmallCholesky {
  public:
    // Of size × size numbers, row by row; the lower triangle is read. Where rounding leaves nothing of a pivot, the
    // row and the column beyond the diagonal count as 0.
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
