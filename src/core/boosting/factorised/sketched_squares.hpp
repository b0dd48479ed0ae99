// Sums of squared residuals by tensor sketch, for strategy factorize with residuals => 'sketch'.
//
// Estimates, by bin of a feature, the sum of the squared norms of the bin's rows (their join rows are disjoint), and of
// several sketches the median. A side of a split is a sum of bins, so what holds for every bin of a node's histogram
// holds for every split of the node: with a size that is chosen by epsilon and delta, every sum of squares that the
// search for a node's split uses is within a factor 1 ± epsilon of the exact one, with probability 1 − delta for the
// node.
#pragma once

#include "core/boosting/binning/binning.hpp"
#include "core/boosting/trees/boosting_model.hpp"
#include "core/relational/filtered/filtered_sketch.hpp"
#include "core/relational/queries/sketch_size.hpp"

namespace btml::boosting {

// Says whether training by these options estimates squares, where the join's rows are not held.
inline bool sketches_squares(const Options& options) {
    return options.sketch_residuals && options.criterion == Criterion::mse_sum;
}

// Plans histograms of so many bins over a join of so many tables, bags aside; one sketch where its size is given.
relational::SketchPlan plan_sketches(const Options& options, uint64_t bins, int tables);

class SketchedSquares {
  public:
    SketchedSquares(const relational::FilteredJoin& join, const BinnedData& data, const Options& options);

    // Σ weight · residual² by bin, of these features one after the other, where the sum of the queries is the residual.
    // Every call takes sketches of its own.
    Buffer<double> by_bin(const relational::Selection& selection, const std::vector<relational::FilterQuery>& residual,
                          const std::vector<int>& features);
    // Takes note of the relative error of the sum over a tree's root, but where a perfect fit leaves rounding errors
    // only.
    void measure(double estimate, double exact);

    SketchReport report() const { return {plan_.size, plan_.sketches, error_}; }

    // Bytes at most, by what is known before binning. Error limit_exceeded for sketches of more than 2^31 − 1 numbers.
    static uint64_t bytes(const Dataset& dataset, const relational::GroupedJoin& join, const Options& options,
                          uint64_t queries);

  private:
    const BinnedData& data_;
    const relational::SketchPlan plan_;
    const uint64_t seed_;
    RunContext& context_;
    relational::FilteredSketch sketch_;
    uint64_t sketches_taken_ = 0;
    double largest_sum_ = 0;
    std::optional<double> error_;
};

} // namespace btml::boosting
