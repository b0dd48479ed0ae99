// How predictions change with one feature, the others being what they are in rows of a source (Friedman: Greedy
// Function Approximation: A Gradient Boosting Machine, Annals of Statistics 2001, section 8.2).
#pragma once

#include "core/base/run_context.hpp"
#include "core/boosting/objectives/holdout_metric.hpp"
#include "core/data/feature.hpp"
#include "core/numbers/number.hpp"
#include "core/numbers/sample_mean.hpp"

#include <functional>
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

// How much worse predictions become when the values of one column change places among the rows (Breiman: Random
// Forests, Machine Learning 2001, section 10; Fisher, Rudin, Dominici, JMLR 2019, for any model).

// Predicts a point, and compares it with the target of a row.
using PointScorer = std::function<boosting::HeldOutRow(std::span<const double> point, size_t row)>;

struct PermutationTask {
    std::span<const double> points; // features of the rows, one row after the other
    size_t features;
    std::span<const FeatureGroup> groups; // whose features change places together
    boosting::HoldoutMetric metric;       // not ndcg
    double alpha;                         // of pinball
    int repeats;
    uint64_t seed;
};

// Returns the importance of each group of features, over at least one row: by how much the metric gets worse, on
// average over the repeats. What the seed permutes depends on the order of the rows. Error invalid_argument where the
// metric is not defined for the rows; those of the scorer.
std::vector<SampleMean> permutation_importance(const PermutationTask& task, const PointScorer& score,
                                               RunContext& context);

} // namespace btml::explanation
