// Options of plans of features.
#pragma once

#include "core/base/options_table.hpp"

namespace btml::features {

struct Options {
    int max_depth = 2, max_features = 200;
    bool inclusive = false;
    int64_t seed = 0;
};

extern const OptionsTable<Options> options_table;

} // namespace btml::features
