// Products of many rows' covariances with the inducing points of a sparse process: what predictions are made of.
#pragma once

#include "core/gp/sparse/moments.hpp"
#include "core/gp/sparse/sparse_model.hpp"

#include <functional>

namespace btml::gp {

// Of consecutive rows, k being a row's covariances with the inducing points times √weight.
struct RowForms {
    std::vector<double> means;                // k'solution
    std::vector<std::vector<double>> squares; // k'Ak by matrix A, row by row

    size_t rows() const { return means.size(); }
};

// Calls use(first row, forms) for all rows in their order; from row 0 again where a device fails on the way. matrices:
// symmetric, K × K numbers each. O(K²) for a row and matrix: a device's where all together are worth the way there,
// whose last digits are its own. Holds a CovarianceSlab and as much again.
void find_forms(const SparseModel::Parts& parts, std::span<const double* const> matrices, const SmoothRows& rows,
                ThreadTeam& team, RunContext& context, const std::function<void(size_t, const RowForms&)>& use);

} // namespace btml::gp
