#include "core/gp/additive/small_cholesky.hpp"

#include <cmath>
#include <limits>

namespace btml::gp {

// Rounding may leave so much of a pivot that is 0, over the diagonal element.
static constexpr double min_pivot = 1e-13;

SmallCholesky::SmallCholesky(std::vector<double> matrix, size_t size) : factor_(std::move(matrix)), size_(size) {
    for (size_t j = 0; j < size; j++) {
        const double* const above = factor_.data() + j * size;
        const double diagonal = above[j];
        double pivot = diagonal;
        for (size_t k = 0; k < j; k++) pivot -= above[k] * above[k];
        const bool depends = !(pivot > min_pivot * diagonal);
        const double root = depends ? std::numeric_limits<double>::infinity() : std::sqrt(pivot);
        factor_[j * size + j] = root;
        for (size_t i = j + 1; i < size; i++) {
            double* const row = factor_.data() + i * size;
            double value = row[j];
            for (size_t k = 0; k < j; k++) value -= row[k] * above[k];
            row[j] = value / root;
        }
    }
}

void SmallCholesky::solve_lower(std::vector<ColumnValues>& x) const {
    for (size_t i = 0; i < size_; i++)
        for (size_t column = 0; column < Columns::count; column++) {
            double value = x[i][column];
            for (size_t k = 0; k < i; k++) value -= factor_[i * size_ + k] * x[k][column];
            x[i][column] = value / factor_[i * size_ + i];
        }
}

void SmallCholesky::solve_upper(std::vector<ColumnValues>& x) const {
    for (size_t i = size_; i-- > 0;)
        for (size_t column = 0; column < Columns::count; column++) {
            const double value = x[i][column] / factor_[i * size_ + i];
            x[i][column] = value;
            for (size_t k = 0; k < i; k++) x[k][column] -= factor_[i * size_ + k] * value;
        }
}

} // namespace btml::gp
