// How to train over a join: with its rows held as row ids, or by queries over its tables.
#pragma once

#include "core/boosting/factorised_plan.hpp"
#include "core/boosting/model.hpp"
#include "core/relational/join.hpp"

namespace btml::boosting {

struct StrategyChoice {
    Strategy strategy;  // never automatic
    std::string reason; // for people
    factorised::Plan plan = {};
};

// Where the objective does not factorise, enumerates what fits into memory and samples what does not. Otherwise
// enumerates what fits where the rows of one table are the rows of the join, or where that takes under a second, takes
// what fits into memory, and samples where neither fits. Where both fit, what factorising takes depends on what the
// trees will touch: it is chosen where it takes less at best, with a plan that it be given up where it turns out to
// take more. A strategy that is asked for is taken as it is. labels: of the target, 0 for a number.
StrategyChoice choose_strategy(const relational::Join& join, const Options& options, RunContext& context,
                               size_t labels = 0);

// Chooses between enumerate and sample, what the options ask for or what fits, where something needs the rows, as the
// reason says. Error invalid_argument where the options ask for neither.
StrategyChoice choose_held_rows(const relational::Join& join, const Options& options, const std::string& reason,
                                RunContext& context, size_t labels);

// A rough forecast of the time that sketches of squared residuals take when training factorises the join, in seconds
// with as many threads as the context has; 0 where none are made. It grows with the square of the number of leaves.
double sketching_seconds(const relational::Join& join, const Options& options, RunContext& context);

} // namespace btml::boosting
