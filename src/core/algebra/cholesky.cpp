#include "core/algebra/cholesky.hpp"

#include <algorithm>
#include <cmath>

namespace btml::algebra {

namespace {

constexpr size_t side = 128; // is that of a block, but for the last ones

// Blocks of a matrix whose rows have `columns` numbers.
class Blocks {
  public:
    Blocks(const double* data, size_t rows, size_t columns)
        : data_(const_cast<double*>(data)), rows_(rows), columns_(columns) {}

    Block operator()(size_t i, size_t j) const {
        return {data_ + i * side * columns_ + j * side, std::min(side, rows_ - i * side),
                std::min(side, columns_ - j * side), columns_};
    }

  private:
    double* data_;
    size_t rows_, columns_;
};

} // namespace

Cholesky::Cholesky(Buffer<double> matrix, size_t size, ThreadTeam& team)
    : size_(size), steps_((size + side - 1) / side), factor_(std::move(matrix)) {
    for (size_t step = 0; step < steps_; step++) eliminate(step, team);
}

// Makes the factor's columns of one step, and takes what they explain from the columns of later steps.
void Cholesky::eliminate(size_t step, ThreadTeam& team) {
    const Blocks factor(factor_.data(), size_, size_);
    if (!factorise(factor(step, step)))
        throw Error(ErrorCode::out_of_range, "a covariance matrix is not positive definite", "",
                    "Give a larger noise.");
    const size_t below = step + 1;
    team.for_each(steps_ - below,
                  [&](size_t item, int) { solve_rows(factor(step, step), factor(below + item, step)); });
    team.for_each(steps_ - below, [&](size_t item, int) {
        const size_t i = steps_ - 1 - item; // the longest row first
        for (size_t j = below; j <= i; j++) subtract_product_of_rows(factor(i, step), factor(j, step), factor(i, j));
    });
}

double Cholesky::log_determinant() const {
    double sum = 0;
    for (size_t i = 0; i < size_; i++) sum += std::log(factor_[i * size_ + i]);
    return 2 * sum;
}

void Cholesky::solve(double* x, ThreadTeam& team) const {
    const Blocks factor(factor_.data(), size_, size_), solution(x, size_, 1);
    for (size_t step = 0; step < steps_; step++) {
        solve_lower(factor(step, step), solution(step, 0));
        team.for_each(steps_ - step - 1, [&](size_t item, int) {
            const size_t i = step + 1 + item;
            subtract_product(factor(i, step), solution(step, 0), solution(i, 0));
        });
    }
    for (size_t step = steps_; step-- > 0;) {
        solve_upper(factor(step, step), solution(step, 0));
        team.for_each(step, [&](size_t i, int) {
            subtract_product_of_columns(factor(step, i), solution(step, 0), solution(i, 0));
        });
    }
}

// Solves for the blocks of the lower triangle of the inverse alone: the upper ones mirror them.
void Cholesky::invert(double* to, ThreadTeam& team) const {
    const Blocks factor(factor_.data(), size_, size_), inverse(to, size_, size_);
    std::fill_n(to, size_ * size_, 0.0);
    for (size_t i = 0; i < size_; i++) to[i * size_ + i] = 1;
    for (size_t step = 0; step < steps_; step++)
        team.for_each(step + 1, [&](size_t column, int) {
            for (size_t j = column; j < step; j++)
                subtract_product(factor(step, j), inverse(j, column), inverse(step, column));
            solve_lower(factor(step, step), inverse(step, column));
        });
    for (size_t step = steps_; step-- > 0;)
        team.for_each(step + 1, [&](size_t column, int) {
            for (size_t j = step + 1; j < steps_; j++)
                subtract_product_of_columns(factor(j, step), inverse(j, column), inverse(step, column));
            solve_upper(factor(step, step), inverse(step, column));
        });
    for (size_t i = 0; i < size_; i++)
        for (size_t j = 0; j < i; j++) to[j * size_ + i] = to[i * size_ + j];
}

} // namespace btml::algebra
