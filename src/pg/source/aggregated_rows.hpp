// Rows that an aggregate has collected to train on: the SQL type btml.training_rows.
#pragma once

#include "core/data/row_collection.hpp"
#include "pg/bridge/guard.hpp"

namespace btml::pg {

// How an aggregate takes its options.
enum class OptionsAs { jsonb, text };

// The body of a transition function (state, y, x float8[], options [, weight float8]) → state, whose y is of this kind.
// `check` refuses options that are not valid, when they are first seen.
Datum accumulate_with_options(FunctionCallInfo fcinfo, void (*check)(const std::string& options),
                              TargetKind kind = TargetKind::number, OptionsAs form = OptionsAs::jsonb);

// The body of a final function (state) → model, whose state is not NULL; NULL when there was no row.
using TrainOnRows = std::function<Datum(const RowCollection& rows)>;
Datum train_on_rows(FunctionCallInfo fcinfo, RunContext& context, const TrainOnRows& train);

// What a NOTICE of one group says, where others of its kind are not told.
inline constexpr const char* first_in_call = "It is the first of its kind in this call.";

// Says once a call that a group has no model.
void notice_no_model(const Error& reason, bool& is_told);

} // namespace btml::pg
