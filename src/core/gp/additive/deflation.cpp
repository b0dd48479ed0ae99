#include "core/gp/additive/deflation.hpp"

#include "core/gp/additive/float_columns.hpp"
#include "core/numbers/rng.hpp"

#include <cmath>
#include <limits>

namespace btml::gp {

namespace {

constexpr int first_iterations = 3; // The power method makes so many from random vectors.
constexpr uint64_t random_stream = uint64_t{1} << 40;
// Rounding may leave so much of a pivot that is 0, over the diagonal element.
constexpr double min_pivot = 1e-13;

// Adds the vectors times the coefficients to y, `factor` times.
void add(ThreadTeam& team, const std::vector<Block>& vectors, const Coefficients& coefficients, double factor,
         Block& y) {
    std::vector<Columns> rounded(coefficients.size());
    for (size_t i = 0; i < rounded.size(); i++)
        for (size_t column = 0; column < Columns::count; column++)
            rounded[i].values[column] = factor * coefficients[i][column];
    for_rows(team, y.size(), [&](size_t begin, size_t end, size_t) {
        for (size_t block = 0; block < vectors.size(); block++)
            add_combination(vectors[block].data() + begin, rounded.data() + block * Columns::count, end - begin,
                            y.data() + begin);
    });
}

} // namespace

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

void SmallCholesky::solve_lower(Coefficients& x) const {
    for (size_t i = 0; i < size_; i++)
        for (size_t column = 0; column < Columns::count; column++) {
            double value = x[i][column];
            for (size_t k = 0; k < i; k++) value -= factor_[i * size_ + k] * x[k][column];
            x[i][column] = value / factor_[i * size_ + i];
        }
}

void SmallCholesky::solve_upper(Coefficients& x) const {
    for (size_t i = size_; i-- > 0;)
        for (size_t column = 0; column < Columns::count; column++) {
            const double value = x[i][column] / factor_[i * size_ + i];
            x[i][column] = value;
            for (size_t k = 0; k < i; k++) x[k][column] -= factor_[i * size_ + k] * value;
        }
}

Deflation::Deflation(RunContext& context) : memory_(context.memory()), parts_(memory_, "deflation") {}

// Returns left'right, by sum_roughly or sum_exactly.
Coefficients Deflation::products(ThreadTeam& team, const std::vector<Block>& left, const Block& right, Summation sum) {
    const size_t numbers = left.size() * Columns::count * Columns::count;
    parts_.resize(parts_of(right.size()) * numbers);
    std::fill(parts_.begin(), parts_.end(), 0.0);
    for_rows(team, right.size(), [&](size_t begin, size_t end, size_t part) {
        for (size_t block = 0; block < left.size(); block++)
            sum(left[block].data() + begin, right.data() + begin, end - begin,
                parts_.data() + part * numbers + block * Columns::count * Columns::count);
    });
    Coefficients result(left.size() * Columns::count, ColumnValues{});
    for (size_t part = 0; part < parts_.size(); part += numbers)
        for (size_t i = 0; i < numbers; i++) result[i / Columns::count][i % Columns::count] += parts_[part + i];
    return result;
}

// Factors left'right, which is symmetric.
SmallCholesky Deflation::factor(ThreadTeam& team, const std::vector<Block>& left, const std::vector<Block>& right) {
    const size_t size = left.size() * Columns::count;
    std::vector<double> matrix(size * size);
    for (size_t block = 0; block < right.size(); block++) {
        const Coefficients columns = products(team, left, right[block], sum_exactly);
        for (size_t i = 0; i < size; i++)
            std::copy(columns[i].begin(), columns[i].end(), matrix.data() + i * size + block * Columns::count);
    }
    return SmallCholesky(std::move(matrix), size);
}

// Z becomes orthonormal vectors of the space of KZ, by the Cholesky factor of their products; where that space has
// fewer dimensions than vectors, the vectors left over become 0.
void Deflation::orthonormalise(ThreadTeam& team) {
    const SmallCholesky cholesky = factor(team, products_, products_);
    for (size_t block = 0; block < vectors_.size(); block++) {
        Coefficients coefficients(cholesky.size(), ColumnValues{});
        for (size_t column = 0; column < Columns::count; column++)
            coefficients[block * Columns::count + column][column] = 1;
        cholesky.solve_upper(coefficients);
        std::fill(vectors_[block].begin(), vectors_[block].end(), Columns{});
        add(team, products_, coefficients, 1, vectors_[block]);
    }
}

// Makes Z and KZ from KZ for another matrix that is like K, or from random vectors in its place.
void Deflation::iterate(AdditiveCovariance& sum, RunContext& context) {
    context.poll();
    orthonormalise(sum.team());
    for (size_t block = 0; block < vectors_.size(); block++) sum.multiply(vectors_[block], products_[block]);
}

uint64_t Deflation::passes_to_follow(const AdditiveCovariance& sum) const {
    if (sum.version() == version_) return 0;
    return blocks(sum.rows()) * (vectors_.empty() ? first_iterations : 1);
}

void Deflation::follow(AdditiveCovariance& sum, RunContext& context) {
    if (sum.version() == version_) return;
    int iterations = 1;
    if (vectors_.empty()) {
        iterations = first_iterations;
        for (size_t block = 0; block < blocks(sum.rows()); block++) {
            vectors_.emplace_back(memory_, "deflation", sum.rows());
            products_.emplace_back(memory_, "deflation", sum.rows());
            for_each_row(sum.team(), sum.rows(), [&](size_t i) {
                for (size_t column = 0; column < Columns::count; column++)
                    products_[block][i].values[column] =
                        static_cast<float>(random_unit(0, random_stream + block * Columns::count + column, i) - 0.5);
            });
        }
    }
    for (int i = 0; i < iterations; i++) iterate(sum, context);
    inverse_.emplace(factor(sum.team(), vectors_, products_));
    version_ = sum.version();
}

// Multiplies the coefficients by E⁻¹.
void Deflation::solve(Coefficients& coefficients) const {
    inverse_->solve_lower(coefficients);
    inverse_->solve_upper(coefficients);
}

void Deflation::project(ThreadTeam& team, Block& r, Block& x) {
    if (vectors_.empty()) return;
    Coefficients coefficients = products(team, vectors_, r, sum_roughly);
    solve(coefficients);
    add(team, vectors_, coefficients, 1, x);
    add(team, products_, coefficients, -1, r);
}

void Deflation::correct(ThreadTeam& team, const Block& r, Block& z) {
    if (vectors_.empty()) return;
    Coefficients coefficients = products(team, vectors_, r, sum_roughly);
    const Coefficients of_z = products(team, products_, z, sum_roughly);
    for (size_t i = 0; i < coefficients.size(); i++)
        for (size_t column = 0; column < Columns::count; column++) coefficients[i][column] -= of_z[i][column];
    solve(coefficients);
    add(team, vectors_, coefficients, 1, z);
}

} // namespace btml::gp
