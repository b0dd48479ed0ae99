// How sums of residuals over a factorised join are found.
#pragma once

#include <limits>
#include <string>

namespace btml::boosting::factorised {

// By cells of a sub-join or by queries for each leaf (see factorised_residuals.hpp); tests ask for one of them.
enum class Way { automatic, cells, queries };

struct Plan {
    Way way = Way::automatic;
    double max_nanoseconds = std::numeric_limits<double>::infinity(); // of one thread; more is not worth it
};

// Thrown where the trees that are left would take longer than the plan allows. Not an Error: whoever made the plan has
// another.
struct NotWorthIt {
    std::string reason; // for people
};

} // namespace btml::boosting::factorised
