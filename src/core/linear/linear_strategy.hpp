// How to fit over a join: row by row, or by queries over its tables.
#pragma once

#include "core/linear/linear_options.hpp"
#include "core/relational/join/join_dataset.hpp"

namespace btml::linear {

struct StrategyChoice {
    bool factorises;
    std::string reason; // for people
};

// Factorises where that is faster, or where the rows do not fit into memory, and only what can be: a gaussian with
// errors of the model. options: the family is not automatic.
StrategyChoice choose_strategy(const relational::Join& join, const relational::DatasetPlan& plan,
                               const Options& options, RunContext& context);

} // namespace btml::linear
