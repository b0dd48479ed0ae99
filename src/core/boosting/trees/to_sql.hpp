// A model as one SQL expression over its feature names.
#pragma once

#include "core/base/buffer.hpp"
#include "core/boosting/trees/boosting_model.hpp"
#include "core/data/sql_text.hpp"

namespace btml::boosting {

// SQL of type double precision, of multiclass without a label an array of all probabilities, that equals predict() on
// every row, NULL, NaN and unseen categories included: base + offset + CASE … END + …, the scores bit for bit, within
// the link of the objective, whose exponential function is SQL's. Columns are quoted identifiers that are cast to
// numbers (dates and times to seconds since 1970, categories to text). The probabilities of multiclass are a subquery.
// Both take time in proportion to the text. Error not_supported naming the feature that the dialect has no expression
// for. An imported model's NaN is NULL, which ANSI SQL lacks; where it sums floats, so does the SQL, as type real.
Buffer<char> to_sql(const Model& model, RunContext& context, const SqlForm& form = {});

} // namespace btml::boosting
