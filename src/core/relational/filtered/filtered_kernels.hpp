// The inner loops of FilteredSums and FilteredSketch, compiled for several instruction sets; results are the same bits
// with each.
#pragma once

#include "core/base/levels.hpp"
#include "core/relational/queries/sketch_hash.hpp"
#include "core/relational/queries/spectrum.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

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

    uint32_t row(size_t i) const { return rows ? rows[i] : first + static_cast<uint32_t>(i); }
};

// sums[at + i] += Σ over the rows of weight · value^power · bit i, and sums[plain[power]] += Σ weight · value^power for
// powers with plain[power] ≥ 0.
BTML_DISPATCH(void, add_local_sums,
              (const GroupRows& rows, const FilterBits* filters, size_t count, const int* plain, double* sums),
              (rows, filters, count, plain, sums));

// sums[row] += weight · Σ over powers of value^power · (factors[plain[power]] + Σ of factors[at + i] where bit i).
BTML_DISPATCH(void, add_row_sums,
              (const GroupRows& rows, const FilterBits* filters, size_t count, const int* plain, const double* factors,
               double* sums),
              (rows, filters, count, plain, factors, sums));

// Sets `bit` of out[i] where a[i] has bit_a and b[i] has bit_b.
BTML_DISPATCH(void, intersect,
              (const uint64_t* a, unsigned bit_a, const uint64_t* b, unsigned bit_b, size_t count, unsigned bit,
               uint64_t* out),
              (a, bit_a, b, bit_b, count, bit, out));

// Gives what stands in column i: values[index[i]], or values[i] where index is null.
template <class Value>
struct Factor {
    const Value* values;
    const uint32_t* index;
};

// out[i] = scale · Π over the factors of what stands in column i, or += that where `add`. `scale` null: 1. Of numbers,
// width is a multiple of `lanes`.
BTML_DISPATCH(void, multiply,
              (double* out, const double* scale, std::span<const Factor<double>> factors, size_t width, bool add),
              (out, scale, factors, width, add));
BTML_DISPATCH(void, multiply,
              (Spectrum::Value * out, const Spectrum::Value* scale, std::span<const Factor<Spectrum::Value>> factors,
               size_t width, bool add),
              (out, scale, factors, width, add));

// For each f of `left_out`, at most max_left_out factors: out[f · width + i] = scale · Π over the factors and all of
// `left_out` but f of what stands in column i, or += that where `add`.
inline constexpr size_t max_left_out = 16;
BTML_DISPATCH(void, multiply_without_each,
              (double* out, const double* scale, std::span<const Factor<double>> factors,
               std::span<const Factor<double>> left_out, size_t width, bool add),
              (out, scale, factors, left_out, width, add));
BTML_DISPATCH(void, multiply_without_each,
              (Spectrum::Value * out, const Spectrum::Value* scale, std::span<const Factor<Spectrum::Value>> factors,
               std::span<const Factor<Spectrum::Value>> left_out, size_t width, bool add),
              (out, scale, factors, left_out, width, add));

// out[i] = Σ of values[order[j]] over first[i] ≤ j < first[i + 1].
BTML_DISPATCH(void, add_up,
              (double* out, const double* values, const uint32_t* order, const uint32_t* first, size_t size),
              (out, values, order, first, size));
BTML_DISPATCH(void, add_up,
              (Spectrum::Value * out, const Spectrum::Value* values, const uint32_t* order, const uint32_t* first,
               size_t size),
              (out, values, order, first, size));

// Holds what conditions with one power of the value ask of one table's rows: bits of a word by row, and where each
// bit's sum or factor is.
struct SpectrumFilters {
    const uint64_t* word; // null: all rows pass, at[0] is the place
    uint64_t mask;
    int power;
    std::array<uint32_t, 64> at;
};

// Rows as a tensor sketch sees them, at one block of frequencies.
struct RowSpectra {
    const uint32_t* buckets; // by row, with its sign
    const RootsOfUnity& roots;
    uint64_t block;
    const Spectrum::Value* powers; // by bucket; null: as the roots have them
};

// sums[at] += √weight · value^power · sign · exp(−2πi·bucket·w/k), over the rows that pass.
BTML_DISPATCH(void, add_spectra,
              (const GroupRows& rows, const RowSpectra& hashed, std::span<const SpectrumFilters> filters,
               Spectrum::Value* sums),
              (rows, hashed, filters, sums));

// With v = partial[row] (0 where that is null) + Σ of value^power · factors[at] over the filters that a row passes:
// partial_sums[row] = v where that is not null, or else norms[row] += weight · Σ of frequency_weights[i] · |v_i|².
struct SpectrumNorms {
    const Spectrum::Value* partial;
    Spectrum::Value* partial_sums;
    std::array<double, Spectrum::width> frequency_weights;
    double* norms;
};
BTML_DISPATCH(void, add_norms,
              (const GroupRows& rows, std::span<const SpectrumFilters> filters, const Spectrum::Value* factors,
               const SpectrumNorms& out),
              (rows, filters, factors, out));

} // namespace btml::relational::kernels
