// Multiplies tall matrices of sixteen columns.
#pragma once

#include "core/base/levels.hpp"
#include "core/gp/additive/float_columns.hpp"

namespace btml::gp {

// Adds Σ over the rows of left's column c times right's column d to sums[16·c + d]: in single precision for some rows
// at a time, or in double precision.
BTML_DISPATCH(void, sum_roughly, (const Columns* left, const Columns* right, size_t rows, double* sums),
              (left, right, rows, sums));
BTML_DISPATCH(void, sum_exactly, (const Columns* left, const Columns* right, size_t rows, double* sums),
              (left, right, rows, sums));

// Adds x times sixteen rows of coefficients to y.
BTML_DISPATCH(void, add_combination, (const Columns* x, const Columns* coefficients, size_t rows, Columns* y),
              (x, coefficients, rows, y));

} // namespace btml::gp
