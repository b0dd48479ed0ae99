// Options of what looks at a model over many rows.
#pragma once

#include "core/base/options_table.hpp"
#include "core/boosting/objectives/objective.hpp"

#include <optional>

namespace btml::explanation {

// Which rows of a source are looked at.
struct SampleOptions {
    int rows = 1000;
    uint64_t seed = 0;
};

extern const OptionsTable<SampleOptions> sample_options_table;

struct DependenceOptions {
    SampleOptions sample;
    int points = 20;
};

extern const OptionsTable<DependenceOptions> dependence_options_table;

struct PermutationOptions {
    SampleOptions sample = {.rows = 10'000};
    int repeats = 5;
    std::optional<boosting::HoldoutMetric> metric = {}; // none: the objective's usual one
};

extern const OptionsTable<PermutationOptions> permutation_options_table;

} // namespace btml::explanation
