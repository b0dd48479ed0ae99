// Which of the candidates for features are worth to be kept.
#pragma once

#include "core/features/features_options.hpp"
#include "core/features/plan.hpp"
#include "pg/source/source.hpp"

namespace btml::pg {

struct SelectionRequest {
    const Source& source;
    std::string target;
    std::optional<std::string> holdout;
    const features::Options& options;
};

// Returns the type of a column of times. Error wrong_type for any other.
features::TimeType require_time(const Source::Column& as_of);

// Returns the SQL of a plan's features over a source. Errors as of features::feature_sql and read_tables;
// undefined_column and wrong_type where the source lacks a column that the plan needs.
std::string feature_sql_over(features::Plan plan, const Source& source, RunContext& context);

// Keeps the features by which boosted trees predict the target of a sample, those of the greatest gain first, and says
// what each was worth.
void select_features(features::Plan& plan, const SelectionRequest& request, RunContext& context);

} // namespace btml::pg
