// Quadratic forms of many rows' covariances with the inducing points of a sparse gp, which predictions are made
// of.
#pragma once

#include "core/gp/sparse/device_gp.hpp"
#include "core/gp/sparse/sparse_model.hpp"

namespace btml::gp {

class QuadraticForms {
  public:
    static constexpr size_t max_rows = CovarianceSlab::max_rows; // at a time

    // Holds what was found of some rows, k being the covariances of one times √weight.
    struct OfRows {
        std::vector<double> means;              // k'solution
        std::vector<std::vector<double>> forms; // k'Ak by matrix A, row by row

        size_t rows() const { return means.size(); }
    };

    // Keeps references. matrices: symmetric, K × K numbers each. rows: so many are to come in all, by which a device is
    // worth the way there or not; its last digits are its own.
    QuadraticForms(const SparseModel::Parts& parts, std::vector<const double*> matrices, size_t rows, ThreadTeam& team,
                   RunContext& context);

    // Takes max_rows of the rows from `begin` on, or what is left. O(K²) for a row and matrix. Where the device fails
    // the processor does it, from then on.
    OfRows of_rows(const SmoothRows& rows, size_t begin);

  private:
    static constexpr size_t stride = max_rows;

    OfRows on_device(const SmoothRows& rows, size_t begin);
    OfRows on_processor(const SmoothRows& rows, size_t begin);
    std::vector<double> forms_of(const double* matrix, size_t count);

    const SparseModel::Parts& parts_;
    const std::vector<const double*> matrices_;
    ThreadTeam& team_;
    RunContext& context_;
    std::unique_ptr<DeviceGp> device_;
    SmoothRows rows_;                           // that the covariances are of
    std::optional<CovarianceSlab> covariances_; // made, as the products, when the processor needs it
    Buffer<double> products_;
};

} // namespace btml::gp
