// A linear model as one SQL expression over its feature names.
#pragma once

#include "core/base/buffer.hpp"
#include "core/data/sql_text.hpp"
#include "core/linear/linear_model.hpp"

namespace btml::linear {

// Returns SQL of type double precision that equals predict() on every row whose numbers and terms are finite, NULL and
// unseen categories included: the linear predictor bit for bit, within the link, whose exponential function is SQL's.
// Error not_supported naming the feature that the dialect has no number for.
Buffer<char> to_sql(const Model& model, RunContext& context, const SqlForm& form = {});

} // namespace btml::linear
