#include "core/gp/additive/float_columns.hpp"

#include <algorithm>

namespace btml::gp {

namespace BTML_LEVEL {

namespace {

constexpr size_t rows_of_a_sum = 64;

// Holds as many numbers as the registers of most processors have room for.
template <class Real>
struct Lanes {
    static constexpr size_t count = 32 / sizeof(Real), of_row = Columns::count / count;
    typedef Real Vector __attribute__((vector_size(32), aligned(4), may_alias));
};

// Adds Σ of left's column c times right's column d to sums[16·c + d]: it makes short sums in Real, adds those up in
// double, and takes as many columns c at a time as registers have room for.
template <class Real>
[[gnu::always_inline]] inline void sum_products(const Columns* left, const Columns* right, size_t rows, double* sums) {
    using Vector = typename Lanes<Real>::Vector;
    constexpr size_t count = Lanes<Real>::count, of_row = Lanes<Real>::of_row, at_once = 8 / of_row;
    Real l[rows_of_a_sum][Columns::count], r[rows_of_a_sum][Columns::count];
    for (size_t begin = 0; begin < rows; begin += rows_of_a_sum) {
        const size_t here = std::min(rows - begin, rows_of_a_sum);
        for (size_t i = 0; i < here; i++)
            for (size_t c = 0; c < Columns::count; c++) {
                l[i][c] = static_cast<Real>(left[begin + i].values[c]);
                r[i][c] = static_cast<Real>(right[begin + i].values[c]);
            }
        for (size_t c = 0; c < Columns::count; c += at_once) {
            Vector part[at_once][of_row] = {};
            for (size_t i = 0; i < here; i++) {
                const auto* const row = reinterpret_cast<const Vector*>(r[i]);
                for (size_t k = 0; k < at_once; k++)
                    for (size_t v = 0; v < of_row; v++) part[k][v] += row[v] * l[i][c + k];
            }
            for (size_t k = 0; k < at_once; k++)
                for (size_t d = 0; d < Columns::count; d++)
                    sums[(c + k) * Columns::count + d] += static_cast<double>(part[k][d / count][d % count]);
        }
    }
}

// Adds x times sixteen rows of coefficients to y, for `count` rows, so that coefficients stay in registers for all of
// them.
template <size_t count>
[[gnu::always_inline]] inline void combine_rows(const Columns* x, const Columns* coefficients, Columns* y) {
    using Vector = Lanes<float>::Vector;
    Vector sums[count][2];
    for (size_t i = 0; i < count; i++)
        for (size_t v = 0; v < 2; v++) sums[i][v] = reinterpret_cast<const Vector*>(y + i)[v];
    for (size_t c = 0; c < Columns::count; c++)
        for (size_t i = 0; i < count; i++)
            for (size_t v = 0; v < 2; v++)
                sums[i][v] +=
                    reinterpret_cast<const Vector*>(coefficients + c)[v] * reinterpret_cast<const float*>(x + i)[c];
    for (size_t i = 0; i < count; i++)
        for (size_t v = 0; v < 2; v++) reinterpret_cast<Vector*>(y + i)[v] = sums[i][v];
}

} // namespace

void sum_roughly(const Columns* left, const Columns* right, size_t rows, double* sums) {
    sum_products<float>(left, right, rows, sums);
}

void sum_exactly(const Columns* left, const Columns* right, size_t rows, double* sums) {
    sum_products<double>(left, right, rows, sums);
}

void add_combination(const Columns* x, const Columns* coefficients, size_t rows, Columns* y) {
    size_t i = 0;
    for (; i + 4 <= rows; i += 4) combine_rows<4>(x + i, coefficients, y + i);
    for (; i < rows; i++) combine_rows<1>(x + i, coefficients, y + i);
}

void add_deviations(const uint16_t* upper, const uint16_t* lower, float near, float far, size_t count, float* sums) {
    for (size_t s = 0; s < count; s++) sums[s] += near * from_upper_half(upper[s]) + far * from_upper_half(lower[s]);
}

} // namespace BTML_LEVEL

} // namespace btml::gp
