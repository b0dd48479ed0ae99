#include "core/gp/additive/small_cholesky.hpp"

#include "core/base/eigen.hpp"

#include <cmath>
#include <limits>

namespace btml::gp {

// Rounding may leave so much of a pivot that is 0, over the diagonal element.
static constexpr double min_pivot = 1e-13;

SmallCholesky::SmallCholesky(std::vector<double> matrix, size_t size) : factor_(std::move(matrix)), size_(size) {
    const auto index = [](size_t i) { return static_cast<Eigen::Index>(i); };
    Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> factor(factor_.data(),
                                                                                              index(size), index(size));
    for (Eigen::Index j = 0; j < factor.rows(); j++) {
        const auto before = factor.row(j).head(j);
        const double pivot = factor(j, j) - before.squaredNorm();
        const bool depends = !(pivot > min_pivot * factor(j, j));
        factor(j, j) = depends ? std::numeric_limits<double>::infinity() : std::sqrt(pivot);
        for (Eigen::Index i = j + 1; i < factor.rows(); i++)
            factor(i, j) = (factor(i, j) - factor.row(i).head(j).dot(before)) / factor(j, j);
    }
}

algebra::Block SmallCholesky::block() const {
    return {const_cast<double*>(factor_.data()), size_, size_, size_};
}

static algebra::Block block_of(std::vector<ColumnValues>& x) {
    return {x.data()->data(), x.size(), Columns::count, Columns::count};
}

void SmallCholesky::solve_lower(std::vector<ColumnValues>& x) const {
    algebra::solve_lower(block(), block_of(x));
}

void SmallCholesky::solve_upper(std::vector<ColumnValues>& x) const {
    algebra::solve_upper(block(), block_of(x));
}

} // namespace btml::gp
