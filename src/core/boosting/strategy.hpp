// How to train over a join: with its rows held as row ids, or by queries over its tables.
#pragma once

#include "core/boosting/booster.hpp"
#include "core/relational/join/join.hpp"

#include <functional>

namespace btml::boosting {

struct StrategyChoice {
    Strategy strategy;  // never automatic
    std::string reason; // for people
    factorised::Allowance allowance = {};
};

struct Workload {
    size_t features = 0;
    size_t labels = 0;   // of the target; 0 for a number
    int known_trees = 0; // that training starts with, among those of the options
};

// Where the objective does not factorise, enumerates what fits into memory and samples what does not. Otherwise
// enumerates what fits where the rows of one table are the rows of the join, or where that takes under a second, takes
// what fits into memory, and samples where neither fits. Where both fit, what factorising takes depends on what the
// trees will touch: where at best it is faster it is chosen, and allowed no longer than holding the rows would take. A
// strategy that is asked for is taken as it is.
StrategyChoice choose_strategy(const relational::Join& join, const Workload& workload, const Options& options,
                               RunContext& context);

// Returns fit(options), which may choose to factorise. Where that is given up, fit(options) is called once more with
// strategy enumerate, and the model's reason says why.
FitResult fit_or_enumerate(Options& options, RunContext& context, const std::function<FitResult(Options&)>& fit);

// Chooses between enumerate and sample, what the options ask for or what fits, where something needs the rows, as the
// reason says. Error invalid_argument where the options ask for neither.
StrategyChoice choose_held_rows(const relational::Join& join, const Options& options, const std::string& reason,
                                RunContext& context, size_t labels);

// A rough forecast of the time that sketches of squared residuals take when training factorises the join, in seconds
// with as many threads as the context has; 0 where none are made. It grows with the square of the number of leaves.
double sketching_seconds(const relational::Join& join, const Options& options, RunContext& context);

} // namespace btml::boosting
