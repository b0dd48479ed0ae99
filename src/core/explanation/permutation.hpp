// How much worse predictions become when the values of one feature change places among the rows (Breiman: Random
// Forests, Machine Learning 2001, section 10; Fisher, Rudin, Dominici, JMLR 2019, for any model).
#pragma once

#include "core/base/run_context.hpp"
#include "core/boosting/objectives/holdout_metric.hpp"
#include "core/numbers/sample_mean.hpp"

#include <functional>
#include <span>
#include <vector>

namespace btml::explanation {

// Predicts a point, and compares it with the target of a row.
using PointScorer = std::function<boosting::HeldOutRow(std::span<const double> point, size_t row)>;

struct PermutationTask {
    std::span<const double> points; // features of the rows, one row after the other
    size_t features;
    boosting::HoldoutMetric metric; // not ndcg
    double alpha;                   // of pinball
    int repeats;
    uint64_t seed;
};

// Returns the importance of each feature, over at least one row: by how much the metric gets worse, on average over the
// repeats. What the seed permutes depends on the order of the rows. Error invalid_argument where the metric is not
// defined for the rows; those of the scorer.
std::vector<SampleMean> permutation_importance(const PermutationTask& task, const PointScorer& score,
                                               RunContext& context);

} // namespace btml::explanation
