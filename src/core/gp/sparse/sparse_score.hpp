// How well a sparse process predicts each row from the others.
#pragma once

#include "core/gp/sparse/moments.hpp"
#include "core/gp/sparse/sparse_model.hpp"
#include "core/uncertainty/calibration.hpp"

namespace btml::gp {

// The rows are some of those that the process was trained on; inducing points and kernel stay what they are without a
// row. Returns errors and deviations in the order of the rows. inverse: K × K, (K_uu + Φ/σ²)⁻¹. O(rows · K²).
uncertainty::StandardisedErrors leave_rows_out(const SparseModel::Parts& parts, const Buffer<double>& inverse,
                                               const SmoothRows& rows, ThreadTeam& team, RunContext& context);

} // namespace btml::gp
