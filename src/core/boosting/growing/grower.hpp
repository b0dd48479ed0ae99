// One regression tree, grown leaf by leaf.
#pragma once

#include "core/base/timing.hpp"
#include "core/boosting/growing/training_set.hpp"

#include <map>
#include <set>

namespace btml::boosting {

// Seconds spent, by phase.
struct GrowerClock {
    double starting = 0, histograms = 0, splits = 0, partition = 0;
};

class TreeGrower {
  public:
    TreeGrower(TrainingSet& training, const Options& options, ThreadTeam& team, RunContext& context);

    // Grows the tree of a score in an iteration over these features. Its leaves' rows are in leaves() afterwards.
    Tree grow(uint64_t iteration, int score, const std::vector<int>& features);
    const std::vector<TrainingSet::Leaf>& leaves() const { return leaves_; }
    // Says whether the root could not be split: its only leaf is leaves()[0].
    bool is_stump() const { return leaves_.size() == 1; }
    const GrowerClock& clock() const { return clock_; }

    // Returns what histograms of so many bins over a root of so many rows take.
    static uint64_t histogram_bytes(uint64_t bins, uint64_t rows, const Options& options);

  private:
    // A leaf of the tree so far, with the best way to split it.
    struct Leaf {
        int node; // of the tree
        int depth;
        int rows; // the training set's node
        NodeSums sums;
        Bounds bounds;
        Split split;
        int histogram = -1; // kept for its children; −1: none
    };
    // A feature's part of the search for a split.
    struct Searched {
        Candidates found;
        std::vector<BinSums> order; // of a category, as in SplitSearch::scan_categories
    };
    const FeatureBins& feature(int f) const { return training_.features()[f]; }
    NodeSums sum_up(int node, int histogram);
    const HistogramLayout& layout() const { return training_.layout(); }
    bool may_split(const Leaf& leaf) const;
    bool children_may_split(const Leaf& leaf) const;
    bool may_share(int feature) const;
    Leaf take_next_leaf();
    void expand(Leaf leaf);
    int start(uint64_t iteration, int score);
    std::pair<int, int> split_rows(int node, const Split& split);
    void open_children(Leaf left, Leaf right, int parent_histogram);
    void find_split(Leaf& leaf, int histogram);
    std::vector<Searched> search_histograms(const SplitSearch& search, const Leaf& leaf, int histogram);
    void search_histogram(NodeSums node, const Bounds& bounds, const Histogram& histogram, int feature,
                          Searched& result);
    void close(const Leaf& leaf);
    std::pair<Bounds, Bounds> bounds_of_children(const Leaf& leaf) const;
    void renew_leaves();
    // The leaves below a node of the tree, as a part of one list.
    struct LeavesBelow {
        uint32_t begin = 0, count = 0;
    };
    std::vector<LeavesBelow> leaves_below() const;
    template <class ValueOf>
    void bound_children(const Node& node, LeafRule rule, const ValueOf& value_of, std::vector<LeafRule>& rules) const;
    void write_split(const Split& split, Node& node) const;

    size_t histograms_to_keep_of(int root) const;
    int take_histogram();
    void release_histogram(int histogram);
    void build_histogram(int node, int histogram);
    void subtract_histogram(int from, int what);

    TrainingSet& training_;
    const Options& options_;
    ThreadTeam& team_;
    RunContext& context_;
    std::vector<Histogram> histograms_;
    std::vector<int> free_histograms_;
    const uint64_t room_; // of memory, for more histograms than were required
    Reservation tree_memory_;
    GrowerClock clock_;

    std::vector<int8_t> directions_; // by feature, as in SplitSearch; empty: none
    std::vector<int> features_;      // of this tree
    size_t max_histograms_ = 0;      // kept at once
    SumUnits units_;
    std::optional<SplitRules> rules_;
    Tree tree_;
    std::map<int, Leaf> open_;                 // leaves that can be split, by node
    std::set<std::pair<double, int>> by_gain_; // their −gain and node
    std::vector<TrainingSet::Leaf> leaves_;
    std::vector<int> leaf_nodes_; // of the tree
    int64_t leaf_count_ = 0;
};

} // namespace btml::boosting
