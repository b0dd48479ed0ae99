// The inner loops of FilteredSums, compiled for several instruction sets; results are the same bits with each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace btml::relational::kernels {

inline constexpr size_t lanes = 8;

// Filters of eight queries: bits `shift` to shift + 7 of a word, by row.
struct FilterBits {
    const uint64_t* word;
    unsigned shift;
    int power;
    uint32_t at; // of their sums or factors
};

// Rows of one group: `rows`, or `first` and those after it where that is null.
struct GroupRows {
    const uint32_t* rows;
    uint32_t first;
    size_t count;
    const double* weights; // by row; nullptr: 1 each
    const double* values;  // by row
};

// sums[at + i] += Σ over the rows of weight · value^power · bit i, and sums[plain[power]] += Σ weight · value^power for
// powers with plain[power] ≥ 0.
void add_local_sums(const GroupRows& rows, const FilterBits* filters, size_t count, const int* plain, double* sums);

// sums[row] += weight · Σ over powers of value^power · (factors[plain[power]] + Σ of factors[at + i] where bit i).
void add_row_sums(const GroupRows& rows, const FilterBits* filters, size_t count, const int* plain,
                  const double* factors, double* sums);

// out[i] = scale · Π factors[f][i], or += that; width is a multiple of `lanes`.
void multiply(double* out, double scale, const double* const* factors, size_t count, size_t width);
void multiply_add(double* out, double scale, const double* const* factors, size_t count, size_t width);

} // namespace btml::relational::kernels
