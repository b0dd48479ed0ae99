#include "core/gp/sparse/fitc_rows.hpp"

namespace btml::gp {

FitcRows::FitcRows(const SmoothKernel& kernel, std::span<const double> inducing, const SmoothRows& rows,
                   ThreadTeam& team, RunContext& context)
    : context_(context),
      rows_(rows),
      variances_(conditional_variances(kernel, inducing, inducing_factor(kernel, inducing, team, context), rows, team,
                                       context)),
      weights_(context.memory(), CovarianceSlab::what, rows.size()) {}

SmoothRows FitcRows::under(double noise) {
    context_.for_each(rows_.size(), 1,
                      [&](size_t row) { weights_[row] = noise / (noise / rows_.weight(row) + variances_[row]); });
    return {rows_.points, rows_.targets, weights_.span()};
}

} // namespace btml::gp
