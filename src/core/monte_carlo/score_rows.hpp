// Holds the rows that a cross-validation score is of: points, each with a target or without.
#pragma once

#include "core/base/buffer.hpp"

#include <vector>

namespace btml::monte_carlo {

struct ScoreRows {
    ScoreRows(size_t columns, bool has_target, MemoryBudget& budget)
        : dimensions(columns), target(has_target), values(budget, "the points of a score") {}

    size_t width() const { return dimensions + (target ? 1 : 0); }
    size_t size() const { return values.size() / width(); }
    const double* row(size_t i) const { return values.data() + i * width(); }

    size_t dimensions;
    bool target;
    Buffer<double> values; // has rows × width() numbers: the coordinates, then the target
};

// Sorts the rows by a hash of their content, so that nothing computed from them depends on the order they came in, and
// subtracts the target's mean from each target; returns that mean.
double canonicalise(ScoreRows& rows, RunContext& context);

// Returns the standard deviation of each coordinate's numbers in their usual range (divisor n), then that of the
// target.
std::vector<double> standard_deviations(const ScoreRows& rows, RunContext& context);

// Divides each coordinate by its standard deviation, unless that is 0.
void standardise(ScoreRows& rows, RunContext& context);

} // namespace btml::monte_carlo
