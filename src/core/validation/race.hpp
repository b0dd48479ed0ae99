// Finds the best of many options by successive halving (Jamieson, Talwalkar: Non-stochastic best arm identification and
// hyperparameter optimization, AISTATS 2016): what is worse after few trees on few folds is not trained further.
#pragma once

#include "core/validation/scorer.hpp"

#include <cstdint>
#include <optional>

namespace btml::validation {

struct TrialResult {
    double score = 0;                // the mean over the folds it was scored on
    std::optional<double> std_error; // see race
    std::optional<double> withheld;  // of the best
    size_t trees = 0;                // the best number of the mean curve; 0 where there are none
    size_t folds = 0;                // that it was scored on
    double seconds = 0;
    bool is_best = false;
};

// Trains trials on the same folds, in stages:
// 1. half of the trees, on a third of the folds (rounded up); the better half goes on;
// 2. all trees on those folds; the better third goes on, and three at least do so in both;
// 3. all trees on all folds.
// Where there are no trees, the first is none; nor is the second of a single fold. The best is the one with the best
// mean over all folds, the first of equals. std_error: of the score less the best's over the folds that both have; of
// the best, of its score. Nothing for one fold. score_withheld: scores the best on the rows that no fold saw.
std::vector<TrialResult> race(Scorer& scorer, size_t trials, size_t folds, bool score_withheld, RunContext& context);

} // namespace btml::validation
