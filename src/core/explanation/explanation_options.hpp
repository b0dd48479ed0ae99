// Options of what looks at a model over many rows.
#pragma once

#include "core/base/options_table.hpp"
#include "core/boosting/objectives/objective.hpp"

#include <optional>

namespace btml::explanation {

// What is told apart.
struct ElementsOptions {
    bool elements = false; // the elements of a column of arrays
};

extern const OptionsTable<ElementsOptions> elements_options_table;

// Which rows of a source are looked at.
struct SampleOptions {
    int rows = 1000;
    uint64_t seed = 0;
};

struct ImportanceOptions {
    SampleOptions sample;
    bool elements = false;
};

extern const OptionsTable<ImportanceOptions> importance_options_table;

struct DependenceOptions {
    SampleOptions sample;
    int points = 20;
};

extern const OptionsTable<DependenceOptions> dependence_options_table;

struct PermutationOptions {
    SampleOptions sample = {.rows = 10'000};
    int repeats = 5;
    std::optional<boosting::HoldoutMetric> metric = {}; // none: the objective's usual one
    bool elements = false;
};

extern const OptionsTable<PermutationOptions> permutation_options_table;

} // namespace btml::explanation
