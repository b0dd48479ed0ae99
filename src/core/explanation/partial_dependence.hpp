// How predictions change with one feature, the others being what they are in rows of a source (Friedman: Greedy
// Function Approximation: A Gradient Boosting Machine, Annals of Statistics 2001, section 8.2).
#pragma once

#include "core/base/run_context.hpp"
#include "core/numbers/number.hpp"

#include <optional>
#include <span>
#include <vector>

namespace btml::explanation {

// Returns rows whose values are those to look at, of a feature whose value in each row is given: of a number, quantiles
// of the rows in equal steps from the least to the greatest (in PostgreSQL's order), of a category's code the most
// frequent codes, ascending; at most `points`, each value once. A row where it is NULL, if there is one, comes last,
// beyond their number.
std::vector<size_t> grid_rows(std::span<const double> values, bool categorical, size_t points, RunContext& context);

struct Dependence {
    double mean;
    std::optional<double>
        std_error;   // of the mean; 0 where no row is left out, nothing where one row is to speak for others
    double p10, p90; // quantiles, interpolated as by percentile_cont
};

// Sums up predictions of some rows, at least one, and sorts them. left_out: the part of all rows that they are a
// sample of, without replacement, that is not among them.
Dependence summarise(std::span<double> predictions, double left_out, RunContext& context);

} // namespace btml::explanation
