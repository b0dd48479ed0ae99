// What trees are grown over: the rows of a join, by node of the tree under construction, however the join is held.
#pragma once

#include "core/boosting/split.hpp"

#include <optional>

namespace btml::boosting {

class TrainingSet {
  public:
    // A leaf of the tree just grown, and what it subtracts from the residuals of its rows, in units of the grid.
    struct Leaf {
        int node;
        NodeSums sums; // of the rows the tree learned from
        int64_t value;
    };

    virtual ~TrainingSet() = default;

    virtual const std::vector<FeatureBins>& features() const = 0;
    virtual double base() const = 0; // the training rows' mean target
    virtual uint64_t train_rows() const = 0;
    virtual uint64_t holdout_rows() const = 0;
    virtual double train_loss() const = 0; // mean squared residual
    virtual std::optional<double> holdout_loss() const = 0;
    virtual SumUnits units() const = 0;
    // What a leaf with these sums should subtract: learning_rate · sum / (weight + l2), rounded to a number that a
    // double holds exactly; and that as a number.
    virtual int64_t leaf_value(Stats total, double learning_rate, double l2) const = 0;
    virtual double to_number(int64_t value) const = 0;

    // Starts tree number `tree` over these features: forgets all nodes and gives the root.
    virtual int start(uint64_t tree, const std::vector<int>& features) = 0;
    // The rows of a node are what summing it costs; a node of one row need not be split.
    virtual uint64_t rows(int node) const = 0;
    virtual NodeSums sum(int node) = 0;
    // Left and right child. A node can be split once.
    virtual std::pair<int, int> split(int node, const Split& split) = 0;

    // A histogram holds the sums of a node's rows by bin, feature after feature: bins() of them, those of a feature
    // from offset() on. Features that are searched by themselves have none.
    virtual size_t bins() const = 0;
    virtual bool in_histogram(int feature) const = 0;
    virtual size_t offset(int feature) const = 0;
    virtual size_t max_bins() const = 0;                          // of any tree's histogram
    virtual void fill(int node, Stats* sums, Tally* tallies) = 0; // tallies may be null
    // Whether a node's histogram is the sum of its children's. It is not where squares are estimated; then the
    // features' sums over all rows of a node need not be the same either.
    virtual bool adds_up() const { return true; }
    // Adds the candidates of a feature that has no histogram; `order` as in SplitSearch::scan_categories.
    virtual void search(int feature, int node, const SplitSearch& search, std::vector<BinSums>& order,
                        Candidates& found) = 0;

    // Subtracts each leaf's value from its rows, and updates the losses. The leaves cover every row.
    virtual void subtract(const std::vector<Leaf>& leaves) = 0;
};

} // namespace btml::boosting
