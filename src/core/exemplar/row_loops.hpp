// Finds the rows near a candidate, multiplies a matrix by eight vectors at a time, and adds outer products. Eigen takes
// about twice as long for that, since it has vectors of four numbers at most, for the same bits on more processors, and
// packs the matrix first.
#pragma once

#include "core/base/levels.hpp"
#include "core/pairwise/distances.hpp"

namespace btml::exemplar {

inline constexpr size_t group_columns = pairwise::group_points;

// Computes to[i * 8 + c] = Σ_j m[i * stride + j] x[j * 8 + c] for i < rows, j < columns, summed in the order of j.
struct Product {
    const double* m;
    size_t rows, columns, stride;
    const double* x;
    double* to;
};
BTML_DISPATCH(void, multiply, (const Product& product), (product));

// Computes m[i * stride + j] += factor a[i] b[j].
struct OuterProduct {
    double* m;
    size_t rows, columns, stride;
    double factor;
    const double *a, *b;
};
BTML_DISPATCH(void, add_outer_product, (const OuterProduct& outer), (outer));

// Puts the numbers of the rows that are nearer to a candidate than to their second-nearest exemplar into `to`, which
// has room for all and one more.
BTML_DISPATCH(size_t, find_near, (const float* distances, const float* second, size_t rows, uint32_t* to),
              (distances, second, rows, to));

} // namespace btml::exemplar
