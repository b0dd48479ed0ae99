#include "core/exemplar/cholesky.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace btml::exemplar {

namespace {

constexpr size_t block = group_columns, rows_per_item = 128;

} // namespace

Cholesky::Cholesky(Buffer<double> matrix, size_t size, ThreadTeam& team)
    : size_(size), lower_(std::move(matrix)), upper_(lower_.budget(), "a factor", size * size) {
    for (size_t first = 0; first < size; first += block) factor_block(first, team);
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++) upper_[j * size + i] = j <= i ? lower_[i * size + j] : 0;
}

// Columns from `first` on, once all columns before are done.
void Cholesky::factor_block(size_t first, ThreadTeam& team) {
    const size_t last = std::min(first + block, size_);
    Buffer<double> panel(lower_.budget(), "a factor", std::max<size_t>(first, 1) * block, 0.0);
    for (size_t c = first; c < last; c++)
        for (size_t t = 0; t < first; t++) panel[t * block + c - first] = lower_[c * size_ + t];
    const auto subtract = [&](size_t row, size_t end) {
        double products[rows_per_item * block];
        multiply({lower_.data() + row * size_, end - row, first, size_, panel.data(), products});
        for (size_t i = row; i < end; i++)
            for (size_t c = first; c < last; c++) lower_[i * size_ + c] -= products[(i - row) * block + c - first];
    };
    subtract(first, last);
    factor_diagonal(first, last);
    team.for_each((size_ - last + rows_per_item - 1) / rows_per_item, [&](size_t item, int) {
        const size_t row = last + item * rows_per_item, end = std::min(row + rows_per_item, size_);
        subtract(row, end);
        solve_rows(first, last, row, end);
    });
}

void Cholesky::factor_diagonal(size_t first, size_t last) {
    for (size_t c = first; c < last; c++) {
        for (size_t t = first; t < c; t++)
            for (size_t i = c; i < last; i++) lower_[i * size_ + c] -= lower_[i * size_ + t] * lower_[c * size_ + t];
        const double pivot = lower_[c * size_ + c];
        if (!(pivot > 0))
            throw Error(ErrorCode::out_of_range, "a covariance matrix is not positive definite", "",
                        "Give a larger noise.");
        const double root = std::sqrt(pivot);
        for (size_t i = c; i < last; i++) lower_[i * size_ + c] /= root;
    }
}

void Cholesky::solve_rows(size_t first, size_t last, size_t row, size_t rows_end) {
    for (size_t i = row; i < rows_end; i++)
        for (size_t c = first; c < last; c++) {
            double value = lower_[i * size_ + c];
            for (size_t t = first; t < c; t++) value -= lower_[i * size_ + t] * lower_[c * size_ + t];
            lower_[i * size_ + c] = value / lower_[c * size_ + c];
        }
}

double Cholesky::log_determinant() const {
    double sum = 0;
    for (size_t i = 0; i < size_; i++) sum += std::log(lower_[i * size_ + i]);
    return 2 * sum;
}

void Cholesky::solve(double* x) const {
    std::array<double, block * block> products;
    for (size_t first = 0; first < size_; first += block) {
        const size_t last = std::min(first + block, size_);
        multiply({lower_.data() + first * size_, last - first, first, size_, x, products.data()});
        for (size_t i = first; i < last; i++)
            for (size_t c = 0; c < block; c++) {
                double value = x[i * block + c] - products[(i - first) * block + c];
                for (size_t t = first; t < i; t++) value -= lower_[i * size_ + t] * x[t * block + c];
                x[i * block + c] = value / lower_[i * size_ + i];
            }
    }
    for (size_t last = size_; last > 0;) {
        const size_t first = (last - 1) / block * block;
        multiply({upper_.data() + first * size_ + last, last - first, size_ - last, size_, x + last * block,
                  products.data()});
        for (size_t i = last; i-- > first;)
            for (size_t c = 0; c < block; c++) {
                double value = x[i * block + c] - products[(i - first) * block + c];
                for (size_t t = i + 1; t < last; t++) value -= upper_[i * size_ + t] * x[t * block + c];
                x[i * block + c] = value / upper_[i * size_ + i];
            }
        last = first;
    }
}

void Cholesky::invert(double* to, ThreadTeam& team) const {
    team.for_each((size_ + block - 1) / block, [&](size_t item, int) {
        const size_t first = item * block, last = std::min(first + block, size_);
        std::vector<double> x(size_ * block);
        for (size_t c = first; c < last; c++) x[c * block + c - first] = 1;
        solve(x.data());
        for (size_t c = first; c < last; c++)
            for (size_t i = 0; i < size_; i++) to[c * size_ + i] = x[i * block + c - first];
    });
}

} // namespace btml::exemplar
