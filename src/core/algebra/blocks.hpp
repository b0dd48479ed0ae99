// Dense algebra on blocks of matrices that are in the cache: no side is over eigen_block numbers, but for a product's
// rows and columns where all of the other two are at most that.
#pragma once

#include "core/base/levels.hpp"

#include <cstddef>

namespace btml::algebra {

// Element (i, j) is data[i * stride + j].
struct Block {
    double* data;
    size_t rows, columns, stride;
};

// Puts the Cholesky factor into the lower triangle. False: the matrix is not positive definite.
BTML_DISPATCH(bool, factorise, (const Block& matrix), (matrix));

// Multiplies by the inverse of a lower triangular matrix L: x becomes L⁻¹x, L'⁻¹x or xL'⁻¹. Of a row whose diagonal
// element is infinite, the solution is 0.
BTML_DISPATCH(void, solve_lower, (const Block& lower, const Block& x), (lower, x));
BTML_DISPATCH(void, solve_upper, (const Block& lower, const Block& x), (lower, x));
BTML_DISPATCH(void, solve_rows, (const Block& lower, const Block& x), (lower, x));

// c −= ab, ab' or a'b.
BTML_DISPATCH(void, subtract_product, (const Block& a, const Block& b, const Block& c), (a, b, c));
BTML_DISPATCH(void, subtract_product_of_rows, (const Block& a, const Block& b, const Block& c), (a, b, c));
BTML_DISPATCH(void, subtract_product_of_columns, (const Block& a, const Block& b, const Block& c), (a, b, c));

} // namespace btml::algebra
