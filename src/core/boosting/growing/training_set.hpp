// Holds what trees are grown over: the rows of a join, by node of the tree under construction, however the join is
// held.
#pragma once

#include "core/boosting/growing/split.hpp"
#include "core/boosting/objectives/objective.hpp"

namespace btml::boosting {

// Says where the bins of a tree's features lie in a histogram, one feature after the other.
class HistogramLayout {
  public:
    // Features with more bins than `most` have no place.
    HistogramLayout(const std::vector<FeatureBins>& features, size_t most) : features_(features), most_(most) {}

    // The features of the next tree, ascending.
    void select(const std::vector<int>& features) {
        selected_.clear();
        offsets_.assign(features_.size(), 0);
        bins_ = 0;
        for (const int f : features) {
            if (!holds(f)) continue;
            selected_.push_back(f);
            offsets_[f] = bins_;
            bins_ += features_[f].size();
        }
    }

    bool holds(int feature) const { return features_[feature].size() <= most_; }
    const std::vector<int>& selected() const { return selected_; }
    // Returns where a selected feature's bins begin.
    size_t offset(int feature) const { return offsets_[feature]; }
    size_t bins() const { return bins_; } // of the selected features
    size_t max_bins() const {             // of any tree's
        size_t bins = 0;
        for (size_t f = 0; f < features_.size(); f++)
            if (holds(f)) bins += features_[f].size();
        return bins;
    }

  private:
    const std::vector<FeatureBins>& features_;
    const size_t most_;
    std::vector<int> selected_;
    std::vector<size_t> offsets_; // by feature
    size_t bins_ = 0;
};

// Holds sums of a node's rows by bin, where a layout says.
struct Histogram {
    Buffer<Stats> sums;
    Buffer<Tally> tallies; // empty where none are needed

    Histogram(size_t bins, bool has_tallies, RunContext& context)
        : sums(context.memory(), "histograms", bins), tallies(context.memory(), "histograms", has_tallies ? bins : 0) {}

    bool has_tallies() const { return !tallies.empty(); }
};

// Searches the features that histograms leave out, of a set that has such.
class FeatureSearch {
  public:
    virtual ~FeatureSearch() = default;

    // Adds the feature's candidates; `order` as in SplitSearch::scan_categories.
    virtual void search(int feature, int node, const SplitSearch& search, std::vector<BinSums>& order,
                        Candidates& found) = 0;
    virtual NodeSums sum(int node) = 0;
};

class TrainingSet {
  public:
    // A leaf of the tree just grown, and what it adds to the scores of its rows, in units of the grid.
    struct Leaf {
        int node;
        std::optional<NodeSums> sums; // of the rows the tree learned from; nothing where it learned from others
        int64_t value;
    };

    virtual ~TrainingSet() = default;

    virtual const std::vector<FeatureBins>& features() const = 0;
    virtual uint64_t train_rows() const = 0;
    virtual uint64_t holdout_rows() const = 0;
    virtual const Scores& scores() const = 0;

    // Starts the tree of a score in an iteration over these features: forgets all nodes and gives the root.
    virtual int start(uint64_t iteration, int score, const std::vector<int>& features) = 0;
    // The rows of a node are what summing it costs; a node of one row need not be split.
    virtual uint64_t rows(int node) const = 0;
    // Left and right child. A node can be split once.
    virtual std::pair<int, int> split(int node, const Split& split) = 0;
    // Says that the node may be split so, and the histogram of its smaller child be wanted then: sets that must ask
    // others for histograms ask for several at once.
    virtual void expect(int /*node*/, const Split& /*split*/) {}
    // Says whether filling any histogram takes longer than to subtract two, because others are asked.
    virtual bool asks_others() const { return false; }

    virtual const HistogramLayout& layout() const = 0;
    virtual void fill(int node, Histogram& to) = 0;
    // Says whether a node's histogram is the sum of its children's. It is not where squares are estimated; then the
    // features' sums over all rows of a node need not be the same either.
    virtual bool adds_up() const { return true; }
    // Null where the layout holds every feature.
    virtual FeatureSearch* wide_features() { return nullptr; }

    // Says whether values of leaves follow from their rows, and returns that of all rows of some nodes.
    virtual bool renews() const { return false; }
    virtual int64_t renewed_value(std::span<const int> /*nodes*/, const LeafRule& /*rule*/) { return 0; }

    // Adds each leaf's value to the scores of its rows, and updates the losses. The leaves cover every row.
    virtual void add(const std::vector<Leaf>& leaves) = 0;
};

} // namespace btml::boosting
