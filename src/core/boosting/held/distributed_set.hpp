// A training set whose rows several processes hold.
//
// Every process has an EnumeratedSet over its rows, the coordinator one over none; sums of theirs over all rows
// (losses, grids, quantiles) are those of all processes. The coordinator alone grows trees, and has the others do to
// their rows what it does to its set: start a tree, split a node, fill a histogram, add the leaves' values. What comes
// out is what one process with all rows would come to, bit for bit, as sums are of whole numbers.
#pragma once

#include "core/boosting/held/enumerated_set.hpp"

namespace btml::boosting {

// What the coordinator grows trees over.
class DistributedSet : public TrainingSet {
  public:
    // `own` has no rows; both must outlive it.
    DistributedSet(EnumeratedSet& own, Coordinator& peers, const Options& options, RunContext& context)
        : own_(own), peers_(peers), context_(context), has_tallies_(needs_tallies(options)) {}

    // Tells the others that no tree follows.
    void finish();

    const std::vector<FeatureBins>& features() const override { return own_.features(); }
    uint64_t train_rows() const override { return own_.train_rows(); }
    uint64_t holdout_rows() const override { return own_.holdout_rows(); }
    const Scores& scores() const override { return own_.scores(); }

    int start(uint64_t iteration, int score, const std::vector<int>& features) override;
    // An estimate by weight, of rows that have one; exact where they have none.
    uint64_t rows(int node) const override { return nodes_[node].rows; }
    std::pair<int, int> split(int node, const Split& split) override;
    void expect(int node, const Split& split) override { expected_.emplace_back(node, split); }
    bool asks_others() const override { return true; }
    const HistogramLayout& layout() const override { return own_.layout(); }
    void fill(int node, Histogram& to) override;
    bool renews() const override { return own_.renews(); }
    int64_t renewed_value(std::span<const int> nodes, const LeafRule& rule) override;
    void add(const std::vector<Leaf>& leaves) override;

  private:
    struct Node {
        uint64_t rows;
        int left = -1, right = -1;               // −1: it is not split
        std::optional<Histogram> histogram = {}; // that nobody has asked for yet
    };

    void split_everywhere(int node, const Split& split);
    std::vector<int> split_as_expected();
    void ask_for_histogram(int node);
    Histogram hear_histogram();
    std::vector<int> parts_of(int node) const;

    EnumeratedSet& own_;
    Coordinator& peers_;
    RunContext& context_;
    const bool has_tallies_;
    std::vector<Node> nodes_;                     // of the tree under construction; a leaf may be split, as expected
    std::vector<std::pair<int, Split>> expected_; // splits that may come
};

// Does to a set what the coordinator asks for, until no tree follows.
void serve(EnumeratedSet& set, Holder& peers, RunContext& context);

} // namespace btml::boosting
