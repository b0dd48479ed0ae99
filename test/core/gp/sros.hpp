// Matrices in sparse rank one sum representation (Binary Tree Gaussian Processes, §4): the general operator behind the
// tree's inference, for partitions and columns of any kind. The inference of a single tree needs none of it: see
// likelihood.hpp.
#pragma once

#include "core/base/buffer.hpp"

#include <cstdint>
#include <span>

namespace btml::gp {

// Column by column: entry (j, i) of a rows × columns array is values[i · rows + j].
template <class T>
struct ColumnMajor {
    size_t rows = 0, columns = 0;
    std::span<const T> values;

    std::span<const T> column(size_t i) const { return values.subspan(i * rows, rows); }
};

// y = L(P, P', U, U')x (Definition 3, Algorithm 1): Σ over columns i of Σ over parts l of u(p_i = l) u'(p'_i = l)'. P
// and U have as many rows as y, P' and U' as many as x; all have the same columns; parts are numbers below `parts`.
// O((rows + rows') · columns).
void sros_multiply(ColumnMajor<uint32_t> p, ColumnMajor<uint32_t> p_right, ColumnMajor<double> u,
                   ColumnMajor<double> u_right, size_t parts, std::span<const double> x, std::span<double> y,
                   RunContext& context);

// (I + L(P, C, U))⁻¹ = I + L(P, C', U'), where L(P, C, U) stands for L(P, P, U, C∘U).
struct SrosInverse {
    Buffer<double> c, u;        // rows × columns, column by column
    double log_determinant = 0; // of I + L(P, C, U)
};

// Algorithm 2; rows of one part in a column have the same entry in it of C. Each column of P must be at least as fine
// as the one before it. O(rows · columns²).
SrosInverse sros_invert(ColumnMajor<uint32_t> p, ColumnMajor<double> c, ColumnMajor<double> u, size_t parts,
                        RunContext& context);

// The same for a U whose columns are all equal (Proposition 4): O(rows · columns).
SrosInverse sros_invert_equal(ColumnMajor<uint32_t> p, ColumnMajor<double> c, std::span<const double> u, size_t parts,
                              RunContext& context);

} // namespace btml::gp
