#include "core/gp/conjugate_gradients.hpp"

#include <cmath>

namespace btml::gp {

namespace {

// Column by column; 0 where the divisor is not positive: that system is solved, or as far as single precision goes.
void ratios(const ColumnValues& a, const ColumnValues& b, Columns::Vector& result) {
    for (size_t column = 0; column < Columns::count; column++)
        result[column] = b[column] > 0 ? static_cast<float>(a[column] / b[column]) : 0;
}

double largest_ratio(const ColumnValues& a, const ColumnValues& b) {
    double most = 0;
    for (size_t column = 0; column < Columns::count; column++)
        if (b[column] > 0) most = std::max(most, std::sqrt(a[column] / b[column]));
    return most;
}

} // namespace

ConjugateGradients::ConjugateGradients(RunContext& context)
    : residual_(context.memory(), "conjugate gradients"),
      direction_(context.memory(), "conjugate gradients"),
      product_(context.memory(), "conjugate gradients"),
      preconditioned_(context.memory(), "conjugate gradients"),
      scratch_(context.memory(), "conjugate gradients") {}

ConjugateGradients::Outcome ConjugateGradients::solve(KernelSum& sum, const Block& b, Block& x, double tolerance,
                                                      int iterations, RunContext& context) {
    ThreadTeam& team = sum.team();
    const size_t rows = sum.rows();
    residual_.resize(rows);
    direction_.resize(rows);
    sum.multiply(x, product_);
    for_rows(team, rows, [&](size_t begin, size_t end, size_t) {
        for (size_t i = begin; i < end; i++) residual_[i].values = b[i].values - product_[i].values;
    });
    const ColumnValues squares = dot(team, b, b, scratch_);
    ColumnValues progress{}; // residual times preconditioned residual
    Outcome outcome{0, largest_ratio(dot(team, residual_, residual_, scratch_), squares)};
    while (outcome.residual > tolerance && outcome.iterations < iterations) {
        context.poll();
        sum.precondition(residual_, preconditioned_);
        const ColumnValues before = progress;
        progress = dot(team, residual_, preconditioned_, scratch_);
        Columns::Vector factor;
        ratios(progress, before, factor);
        const bool first = outcome.iterations++ == 0;
        for_rows(team, rows, [&](size_t begin, size_t end, size_t) {
            for (size_t i = begin; i < end; i++)
                direction_[i].values =
                    first ? preconditioned_[i].values : preconditioned_[i].values + factor * direction_[i].values;
        });
        sum.multiply(direction_, product_);
        Columns::Vector step;
        ratios(progress, dot(team, direction_, product_, scratch_), step);
        for_rows(team, rows, [&](size_t begin, size_t end, size_t) {
            for (size_t i = begin; i < end; i++) {
                x[i].values += step * direction_[i].values;
                residual_[i].values -= step * product_[i].values;
            }
        });
        outcome.residual = largest_ratio(dot(team, residual_, residual_, scratch_), squares);
    }
    return outcome;
}

} // namespace btml::gp
