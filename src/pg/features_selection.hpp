// Which of the candidates for features are worth keeping.
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

// Keeps the features by which boosted trees predict the target of a sample, those of the greatest gain first, and says
// what each was worth.
void select_features(features::Plan& plan, const SelectionRequest& request, RunContext& context);

} // namespace btml::pg
