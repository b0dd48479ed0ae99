#include "core/linear/newton_step.hpp"

#include "core/algebra/cholesky.hpp"
#include "core/algebra/dense.hpp"
#include "core/linear/linear_fit.hpp"

#include <algorithm>
#include <cmath>

namespace btml::linear {

namespace {

constexpr const char* what_matrix = "the matrix of a linear model";

// Eliminates the columns of a panel from each other. Each becomes what it has beside those before it, over its length,
// or 0 where the square of that, a pivot, is rounding. Returns the columns that became 0.
std::vector<size_t> eliminate_panel(Buffer<double>& rest, size_t size, size_t begin, std::span<const double> rounding,
                                    RunContext& context) {
    const size_t end = std::min(size, begin + algebra::block_side);
    std::vector<size_t> dependent;
    double column[algebra::block_side]; // of rows of the panel
    for (size_t k = begin; k < end; k++) {
        const double pivot = rest[k * size + k];
        const bool is_dependent = !(pivot > rounding[k]);
        if (is_dependent) dependent.push_back(k);
        const double inverse = 1 / std::sqrt(pivot);
        for (size_t i = k; i < size; i++) {
            double* const row = &rest[i * size];
            row[k] = is_dependent ? 0 : row[k] * inverse;
            if (i < end) column[i - begin] = row[k];
            for (size_t j = k + 1; j < std::min(end, i + 1); j++) row[j] -= row[k] * column[j - begin];
        }
        context.worked(1 + (size - k) * (end - k) / 16);
    }
    return dependent;
}

// Takes from the columns after a panel what its columns explain of them.
void subtract_panel(Buffer<double>& rest, size_t size, size_t panel, RunContext& context) {
    const algebra::Blocks blocks(rest.data(), size, size);
    for (size_t i = panel + 1; i < algebra::blocks_of(size); i++)
        for (size_t j = panel + 1; j <= i; j++) {
            algebra::subtract_product_of_rows(blocks(i, panel), blocks(j, panel), blocks(i, j));
            context.worked(1 + algebra::block_side * blocks(i, j).rows * blocks(i, j).columns / 64);
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
        static constexpr int max_sweeps = 100'000;
        for (int sweep = 0; sweep < max_sweeps; sweep++) {
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
    Buffer<double> rest(context.memory(), what_matrix, size * size, 0.0);
    std::vector<double> rounding;
    for (size_t i = 0; i < size; i++) {
        for (size_t j = 0; j <= i; j++)
            rest[i * size + j] = matrix[std::max(order[i], order[j]) * size + std::min(order[i], order[j])];
        rounding.push_back(tolerance * rest[i * size + i]);
    }
    std::vector<size_t> dependent;
    for (size_t panel = 0; panel < algebra::blocks_of(size); panel++) {
        for (const size_t k : eliminate_panel(rest, size, panel * algebra::block_side, rounding, context))
            dependent.push_back(order[k]);
        subtract_panel(rest, size, panel, context);
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
