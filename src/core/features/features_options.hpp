// Options of plans of features.
#pragma once

#include "core/base/options_table.hpp"

namespace btml::features {

struct Options {
    int max_depth = 2, max_features = 200;
    bool inclusive = false;
    int64_t seed = 0;
    // Which arguments are given.
    bool has_target = false, has_as_of = false, has_windows = false, has_holdout = false;
};

extern const OptionsTable<Options> options_table;

} // namespace btml::features
