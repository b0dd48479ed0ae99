#include "core/linear/newton_step.hpp"

#include "core/algebra/cholesky.hpp"
#include "core/algebra/dense.hpp"
#include "core/linear/linear_fit.hpp"

#include <algorithm>
#include <cmath>

namespace btml::linear {

namespace {

constexpr const char* what_matrix = "the matrix of a linear model";

// Takes from the rows below a pivot what its column explains of them.
void eliminate(Buffer<double>& matrix, size_t size, size_t pivot, std::vector<double>& column) {
    for (size_t i = pivot + 1; i < size; i++) column[i] = matrix[i * size + pivot];
    for (size_t i = pivot + 1; i < size; i++) {
        const double factor = column[i] / matrix[pivot * size + pivot];
        double* const row = &matrix[i * size];
        for (size_t j = pivot + 1; j <= i; j++) row[j] -= factor * column[j];
    }
}

double soft(double x, double by) {
    return std::copysign(std::max(std::fabs(x) - by, 0.0), x);
}

// Finds the least of ½ x'Hx − q'x + Σ (magnitudes·|x_j| + squares/2·x_j²) one coordinate after the other (Friedman,
// Hastie, Tibshirani: Regularization Paths for Generalized Linear Models via Coordinate Descent, 2010). The first
// coordinate costs nothing.
class CoordinateDescent {
  public:
    // rest: q − Hx at the coefficients x that it starts with. matrix: H, both triangles.
    CoordinateDescent(const Buffer<double>& matrix, std::vector<double> rest, std::span<const double> start,
                      double magnitudes, double squares)
        : matrix_(matrix),
          size_(start.size()),
          rest_(std::move(rest)),
          x_(start.begin(), start.end()),
          magnitudes_(magnitudes),
          squares_(squares) {}

    std::vector<double> run(RunContext& context) {
        static constexpr int most = 100'000; // sweeps
        for (int sweep = 0; sweep < most; sweep++) {
            bool moved = false;
            for (size_t j = 0; j < size_; j++) moved |= move(j, context);
            if (!moved) return std::move(x_);
        }
        throw NoCoefficients("an elastic net did not converge",
                             "Features that nearly follow from each other slow it down.",
                             "Give a smaller l1_ratio, or a larger penalty.");
    }

  private:
    // Returns whether the coordinate has moved by more than rounding explains.
    bool move(size_t j, RunContext& context) {
        static constexpr double rounding = 1e-13;
        const double own = matrix_[j * size_ + j], towards = rest_[j] + own * x_[j];
        const double moved = j == 0 ? towards / own : soft(towards, magnitudes_) / (own + squares_);
        const double by = moved - x_[j];
        context.worked(1);
        if (by == 0) return false;
        x_[j] = moved;
        largest_ = std::max(largest_, std::fabs(moved));
        const double* const row = &matrix_[j * size_];
        for (size_t k = 0; k < size_; k++) rest_[k] -= row[k] * by;
        context.worked(size_ / 8);
        return std::fabs(by) > rounding * (j == 0 ? std::max(largest_, std::fabs(moved)) : largest_);
    }

    const Buffer<double>& matrix_;
    const size_t size_;
    std::vector<double> rest_, x_;
    const double magnitudes_, squares_;
    double largest_ = 0; // magnitude that a coordinate had
};

} // namespace

std::vector<size_t> dependent_places(const Buffer<double>& matrix, size_t size, std::span<const size_t> order,
                                     RunContext& context) {
    // What a column has beside those before it, in squares, is rounding below this part of it.
    static constexpr double tolerance = 1e-11;
    Buffer<double> rest(context.memory(), what_matrix, size * size);
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j <= i; j++)
            rest[i * size + j] = matrix[std::max(order[i], order[j]) * size + std::min(order[i], order[j])];
    std::vector<double> column(size);
    std::vector<size_t> dependent;
    for (size_t k = 0; k < size; k++) {
        if (!(rest[k * size + k] > tolerance * matrix[order[k] * size + order[k]])) {
            dependent.push_back(order[k]);
            continue;
        }
        eliminate(rest, size, k, column);
        context.worked((size - k) * (size - k) / 16);
    }
    return dependent;
}

void keep_places(LikelihoodSums& sums, std::span<const size_t> places, RunContext& context) {
    const size_t size = sums.slopes.size(), kept = places.size();
    Buffer<double> slopes(context.memory(), sums.slopes.what(), kept),
        matrix(context.memory(), what_matrix, kept * kept);
    for (size_t i = 0; i < kept; i++) {
        slopes[i] = sums.slopes[places[i]];
        for (size_t j = 0; j < kept; j++) matrix[i * kept + j] = sums.matrix[places[i] * size + places[j]];
    }
    sums.slopes = std::move(slopes);
    sums.matrix = std::move(matrix);
}

double NewtonStep::penalty_of(std::span<const double> coefficients) const {
    double squares = 0, magnitudes = 0;
    for (const double x : coefficients.subspan(1)) {
        squares += x * x;
        magnitudes += std::fabs(x);
    }
    return of_squares() / 2 * squares + of_magnitudes() * magnitudes;
}

std::vector<double> NewtonStep::operator()(const LikelihoodSums& sums, std::span<const double> coefficients) const {
    return of_magnitudes() > 0 ? descend(sums, coefficients) : solve(sums, coefficients);
}

std::vector<double> NewtonStep::solve(const LikelihoodSums& sums, std::span<const double> coefficients) const {
    const size_t size = coefficients.size();
    const double squares = of_squares() * weight_;
    Buffer<double> matrix = sums.matrix.copy(context_);
    std::vector<double> step(sums.slopes.begin(), sums.slopes.end());
    for (size_t i = 1; i < size; i++) {
        matrix[i * size + i] += squares;
        step[i] -= squares * coefficients[i];
    }
    algebra::Cholesky(std::move(matrix), size, team_).solve(step.data(), team_);
    return step;
}

std::vector<double> NewtonStep::descend(const LikelihoodSums& sums, std::span<const double> coefficients) const {
    const size_t size = coefficients.size();
    Buffer<double> matrix = sums.matrix.copy(context_);
    algebra::mirror_lower(matrix.data(), size);
    for (double& number : matrix) number /= weight_;
    std::vector<double> rest(sums.slopes.begin(), sums.slopes.end());
    for (double& number : rest) number /= weight_;
    std::vector<double> step =
        CoordinateDescent(matrix, std::move(rest), coefficients, of_magnitudes(), of_squares()).run(context_);
    for (size_t i = 0; i < size; i++) step[i] -= coefficients[i];
    return step;
}

} // namespace btml::linear
