#include "core/algebra/cholesky.hpp"

#include "core/algebra/dense.hpp"

#include <algorithm>
#include <cmath>

namespace btml::algebra {

Cholesky::Cholesky(Buffer<double> matrix, size_t size, ThreadTeam& team)
    : size_(size), steps_(blocks_of(size)), factor_(std::move(matrix)) {
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
        algebra::solve_lower(factor(step, step), solution(step, 0));
        team.for_each(steps_ - step - 1, [&](size_t item, int) {
            const size_t i = step + 1 + item;
            subtract_product(factor(i, step), solution(step, 0), solution(i, 0));
        });
    }
    for (size_t step = steps_; step-- > 0;) {
        algebra::solve_upper(factor(step, step), solution(step, 0));
        team.for_each(step, [&](size_t i, int) {
            subtract_product_of_columns(factor(step, i), solution(step, 0), solution(i, 0));
        });
    }
}

void Cholesky::solve_lower(double* x, size_t columns, ThreadTeam& team) const {
    const Blocks factor(factor_.data(), size_, size_), solution(x, size_, columns);
    for (size_t step = 0; step < steps_; step++)
        team.for_each(blocks_of(columns), [&](size_t column, int) {
            for (size_t j = 0; j < step; j++)
                subtract_product(factor(step, j), solution(j, column), solution(step, column));
            algebra::solve_lower(factor(step, step), solution(step, column));
        });
}

void Cholesky::solve_upper(double* x, size_t columns, ThreadTeam& team) const {
    const Blocks factor(factor_.data(), size_, size_), solution(x, size_, columns);
    for (size_t step = steps_; step-- > 0;)
        team.for_each(blocks_of(columns), [&](size_t column, int) {
            for (size_t j = step + 1; j < steps_; j++)
                subtract_product_of_columns(factor(j, step), solution(j, column), solution(step, column));
            algebra::solve_upper(factor(step, step), solution(step, column));
        });
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
            algebra::solve_lower(factor(step, step), inverse(step, column));
        });
    for (size_t step = steps_; step-- > 0;)
        team.for_each(step + 1, [&](size_t column, int) {
            for (size_t j = step + 1; j < steps_; j++)
                subtract_product_of_columns(factor(j, step), inverse(j, column), inverse(step, column));
            algebra::solve_upper(factor(step, step), inverse(step, column));
        });
    mirror_lower(to, size_);
}

} // namespace btml::algebra
