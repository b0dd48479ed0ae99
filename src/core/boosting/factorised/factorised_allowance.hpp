// How factorised training may sum residuals, and how long it may take.
#pragma once

#include <limits>
#include <string>

namespace btml::boosting::factorised {

// Says whether cells of a sub-join are summed or queries for each leaf (see factorised_residuals.hpp); tests ask for
// one of them.
enum class Way { automatic, cells, queries };

// Times are of one thread.
struct Allowance {
    Way way = Way::automatic;
    double max_nanoseconds = std::numeric_limits<double>::infinity(); // for the trees that are left, at any time
    double sketching_nanoseconds = 0;                                 // of these, what sketches of all trees take
    int known_trees = 0; // a model that training starts with has them: nothing is summed for them
};

// Thrown where the trees that are left would take longer than the allowance, or would be less exact. Not an Error: who
// gave the allowance catches it and trains with the rows of the join held.
struct NotWorthIt {
    std::string reason; // for people
};

} // namespace btml::boosting::factorised
