#include "core/algebra/blocks.hpp"

#include "core/algebra/eigen.hpp"

namespace btml::algebra {

namespace BTML_LEVEL {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The elements need no more than their own alignment.
static auto map(const Block& block) {
    return Eigen::Map<Matrix, Eigen::Unaligned, Eigen::OuterStride<>>(
        block.data, static_cast<Eigen::Index>(block.rows), static_cast<Eigen::Index>(block.columns),
        Eigen::OuterStride<>(static_cast<Eigen::Index>(block.stride)));
}

bool factorise(const Block& matrix) {
    auto in_place = map(matrix);
    Eigen::Ref<Matrix, Eigen::Unaligned, Eigen::OuterStride<>> all(in_place);
    if (Eigen::LLT<decltype(all), Eigen::Lower>(all).info() != Eigen::Success) return false;
    return (in_place.diagonal().array() > 0).all(); // is false of what is no number
}

void solve_lower(const Block& lower, const Block& x) {
    auto solution = map(x);
    map(lower).triangularView<Eigen::Lower>().solveInPlace(solution);
}

void solve_upper(const Block& lower, const Block& x) {
    auto solution = map(x);
    map(lower).transpose().triangularView<Eigen::Upper>().solveInPlace(solution);
}

void solve_rows(const Block& lower, const Block& x) {
    auto solution = map(x);
    map(lower).transpose().triangularView<Eigen::Upper>().solveInPlace<Eigen::OnTheRight>(solution);
}

void subtract_product(const Block& a, const Block& b, const Block& c) {
    map(c).noalias() -= map(a) * map(b);
}

void subtract_product_of_rows(const Block& a, const Block& b, const Block& c) {
    map(c).noalias() -= map(a) * map(b).transpose();
}

void subtract_product_of_columns(const Block& a, const Block& b, const Block& c) {
    map(c).noalias() -= map(a).transpose() * map(b);
}

} // namespace BTML_LEVEL

} // namespace btml::algebra
