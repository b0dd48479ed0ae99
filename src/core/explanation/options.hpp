// Options of what looks at a model over many rows.
#pragma once

#include "core/base/options_table.hpp"

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

} // namespace btml::explanation
