#include "core/gp/additive/deflation.hpp"

#include "core/base/clones.hpp"
#include "core/base/rng.hpp"

namespace btml::gp {

namespace {

constexpr size_t rows_of_a_sum = 64;
constexpr int first_iterations = 3; // The power method makes so many from random vectors.
constexpr uint64_t random_stream = uint64_t{1} << 40;

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

BTML_CLONES
void sum_roughly(const Columns* left, const Columns* right, size_t rows, double* sums) {
    sum_products<float>(left, right, rows, sums);
}

BTML_CLONES
void sum_exactly(const Columns* left, const Columns* right, size_t rows, double* sums) {
    sum_products<double>(left, right, rows, sums);
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

BTML_CLONES
void add_combination(const Columns* x, const Columns* coefficients, size_t rows, Columns* y) {
    size_t i = 0;
    for (; i + 4 <= rows; i += 4) combine_rows<4>(x + i, coefficients, y + i);
    for (; i < rows; i++) combine_rows<1>(x + i, coefficients, y + i);
}

// Adds the vectors times the coefficients to y, `factor` times.
void add(ThreadTeam& team, const std::vector<Block>& vectors, const Coefficients& coefficients, double factor,
         Block& y) {
    std::vector<Columns> rounded(coefficients.size());
    for (size_t i = 0; i < rounded.size(); i++)
        for (size_t column = 0; column < Columns::count; column++)
            rounded[i].values[column] = static_cast<float>(factor * coefficients[i][column]);
    for_rows(team, y.size(), [&](size_t begin, size_t end, size_t) {
        for (size_t block = 0; block < vectors.size(); block++)
            add_combination(vectors[block].data() + begin, rounded.data() + block * Columns::count, end - begin,
                            y.data() + begin);
    });
}

} // namespace

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
            for_rows(sum.team(), sum.rows(), [&](size_t begin, size_t end, size_t) {
                for (size_t i = begin; i < end; i++)
                    for (size_t column = 0; column < Columns::count; column++)
                        products_[block][i].values[column] = static_cast<float>(
                            random_unit(0, random_stream + block * Columns::count + column, i) - 0.5);
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
