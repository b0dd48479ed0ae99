// Scores models on folds.
#pragma once

#include "core/base/run_context.hpp"

#include <memory>
#include <string>
#include <vector>

namespace btml::validation {

// What a fold's rows score after each number of trees; one number where a model has none.
struct Curve {
    std::vector<double> values;
    double seconds = 0;
};

// Trains some options, which are numbered from 0, on the same folds.
class Scorer {
  public:
    virtual ~Scorer() = default;

    // Trains on the rows outside of each of the folds from begin to end. share: part of the trees, at least one is
    // trained. `phase` is what progress shows before the fold. The curves are of one length.
    virtual std::vector<Curve> curves(size_t trial, size_t begin, size_t end, double share,
                                      const std::string& phase) = 0;
    // Says whether the curve of a fold does not depend on the folds that are asked for with it.
    virtual bool folds_are_apart(size_t /*trial*/) const { return true; }
    // Says whether curves are longer than one number.
    virtual bool has_trees() const = 0;
    // Returns how much work a fold of the trial is, next to one of the other trials.
    virtual double work(size_t /*trial*/) const { return 1; }
    // Returns what the rows that no fold saw score, by a model of all others with so many trees.
    virtual double withheld_score(size_t trial, size_t trees) = 0;
    virtual bool is_better(double value, double than) const = 0;
};

// The best number of trees by the mean of some curves.
struct Best {
    size_t trees = 0;
    double mean = 0;
    std::vector<double> values; // by fold
};
Best best_of_mean(const std::vector<Curve>& curves, const Scorer& scorer);

} // namespace btml::validation
