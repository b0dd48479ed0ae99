// How to train over a join: with its rows held as row ids, or by queries over its tables.
#pragma once

#include "core/boosting/model.hpp"
#include "core/relational/join.hpp"

namespace btml::boosting {

struct StrategyChoice {
    Strategy strategy;  // never automatic
    std::string reason; // for people
};

// Where the objective does not factorise, enumerates what fits into memory and samples what does not. Otherwise
// enumerates what fits where the rows of one table are the rows of the join, or where that takes under a second, takes
// what fits into memory, of both what is estimated to be faster, and samples where neither fits. A strategy that is
// asked for is taken as it is.
// labels: of the target, 0 for a number.
StrategyChoice choose_strategy(const relational::Join& join, const Options& options, RunContext& context,
                               size_t labels = 0);

// Chooses between enumerate and sample, what the options ask for or what fits, where something needs the rows, as the
// reason says. Error invalid_argument where the options ask for neither.
StrategyChoice choose_held_rows(const relational::Join& join, const Options& options, const std::string& reason,
                                RunContext& context, size_t labels);

// Returns what the choice takes factorised training to cost: a rough forecast in seconds, on one thread. Exact sums of
// squares grow with the square of the number of leaves, sketched ones with that number times their size.
double factorising_seconds(const relational::Join& join, const Options& options);

// A rough forecast of the time that sketches of squared residuals take when training factorises the join, in seconds
// with as many threads as the context has; 0 where none are made.
double sketching_seconds(const relational::Join& join, const Options& options, RunContext& context);

} // namespace btml::boosting
