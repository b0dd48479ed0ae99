// Gives a sparse process one observation more, or takes one away.
#pragma once

#include "core/gp/sparse/sparse_model.hpp"

namespace btml::gp {

// The target is standardised, the weight as rows have it; inducing points and kernel stay as they are. False,
// with nothing changed, where an observation to take away weighs more than one that the process has could. O(K³).
bool condition_on(SparseModel::Parts& parts, std::span<const double> features, double target, double weight, bool more,
                  RunContext& context);

} // namespace btml::gp
