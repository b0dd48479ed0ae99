// Multiplies a matrix by eight vectors at a time, and computes distances and outer products in the same layout.
#pragma once

#include <cstddef>

namespace btml::exemplar {

inline constexpr size_t group_columns = 8;

// Computes to[i * 8 + c] = Σ_j m[i * stride + j] x[j * 8 + c] for i < rows, j < columns, summed in the order of j.
struct Product {
    const double* m;
    size_t rows, columns, stride;
    const double* x;
    double* to;
};
void multiply(const Product& product);

// Computes to[i * 8 + c] = Σ_f (rows[i * width + f] − points[f * 8 + c])² for i < count.
struct SquaredDistances {
    const double* rows;
    size_t count, width;
    const double* points;
    double* to;
};
void find_distances(const SquaredDistances& distances);

// Computes m[i * stride + j] += factor a[i] b[j].
struct OuterProduct {
    double* m;
    size_t rows, columns, stride;
    double factor;
    const double *a, *b;
};
void add_outer_product(const OuterProduct& outer);

} // namespace btml::exemplar
