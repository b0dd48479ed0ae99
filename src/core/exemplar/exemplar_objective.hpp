// Estimates what a set of exemplars is worth on validation rows. A new objective is one more implementation of this
// interface and a line in make_objective().
#pragma once

#include "core/base/threads.hpp"
#include "core/exemplar/exemplar_options.hpp"
#include "core/exemplar/exemplar_points.hpp"
#include "core/exemplar/squared_exponential.hpp"

#include <cmath>
#include <memory>

namespace btml::exemplar {

// In a change, a candidate takes a slot; slot size() is a new one.
struct Change {
    static constexpr size_t nothing = SIZE_MAX;

    size_t slot = nothing;
    double gain = 0; // adds to the utility; it is −∞ where there is nothing to change
};

// Names the exemplar nearest to a row.
struct Nearest {
    size_t slot;
    double dissimilarity;
};

// Holds the set of exemplars, in slots 0 … size() − 1, with what it needs to know of them. Utilities are means over
// the validation rows, by their weights.
class Objective {
  public:
    virtual ~Objective() = default;

    virtual size_t size() const = 0;
    // Takes the block of candidates that the calls below are about, in the place of the last one, by reference.
    virtual void load(const PointSet& candidates, ThreadTeam& team) = 0;
    // Finds the best change for each of the candidates first ≤ c < last, by itself: an addition while `add`, else a
    // swap. Of equally good slots it takes the lowest, whatever the number of threads. Races find a swap that is known
    // to gain more than eta, though maybe not the best, or else nothing.
    virtual void score(size_t first, size_t last, bool add, std::span<Change> best, ThreadTeam& team) = 0;
    virtual void apply(size_t candidate, size_t slot, ThreadTeam& team) = 0;

    // Says whether utilities come from validation rows, and so differ from those of the whole source.
    virtual bool is_estimate() const { return true; }
    // Returns the utility of the set over the validation rows.
    virtual double utility() const = 0;
    // Returns the gain below which gains are rounding errors.
    virtual double least_gain() const { return min_relative_gain * std::abs(utility()); }
    // Returns what validation row i adds to the utility, times the number of rows; NaN for rows that do not count.
    virtual double utility_of(size_t row) const = 0;
    virtual Nearest nearest(size_t row) const = 0;

  protected:
    static constexpr double min_relative_gain = 1e-11; // to the utility
};

// Holds what an objective is made of; everything outlives it.
struct ObjectiveInput {
    const Options& options;
    const PointSet& validation; // is not empty
    // Says whether the validation rows are all rows. A row of a sample that stands for others does not count while it
    // is an exemplar, nor for or against its own choice: that would favour the rows of the sample, or those like them.
    bool has_all;
    // Points to the phantom exemplar, or without one to what a row's loss is measured against when there is no
    // exemplar; it is null where the objective has no use for it.
    const PointSet* reference;
    const SquaredExponential* kernel; // serves objectives for Gaussian processes
    DissimilarityFunction* function;  // goes with Metric::function
    uint64_t candidates = 1;          // are scored in all, at most: races are about them
    size_t large_rows = 0;            // so many of the first validation rows count for much, so every race sums them
};

std::unique_ptr<Objective> make_objective(const ObjectiveInput& input, ThreadTeam& team, RunContext& context);

} // namespace btml::exemplar
