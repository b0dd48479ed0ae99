// One regression tree, grown leaf by leaf.
#pragma once

#include "core/boosting/histogram.hpp"
#include "core/boosting/split.hpp"
#include "core/boosting/wide_features.hpp"

#include <chrono>
#include <map>
#include <set>

namespace btml::boosting {

// Seconds spent, by phase.
struct GrowerClock {
    double histograms = 0, splits = 0, partition = 0;
};

// Adds the time between its construction and its end to a total.
class Stopwatch {
  public:
    explicit Stopwatch(double& total) : total_(total) {}
    ~Stopwatch() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

  private:
    double& total_;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Bytes counted against a budget while this lives: for what is not held in a Buffer.
class Reservation {
  public:
    Reservation(MemoryBudget& budget, const char* what) : budget_(budget), what_(what) {}
    ~Reservation() { budget_.release(bytes_); }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    void add(uint64_t bytes) {
        budget_.acquire(bytes, what_);
        bytes_ += bytes;
    }

  private:
    MemoryBudget& budget_;
    const char* what_;
    uint64_t bytes_ = 0;
};

class TreeGrower {
  public:
    TreeGrower(const BinnedData& data, const TrainingRows& training, Residuals& residuals, RowIndex& index,
               const Options& options, ThreadTeam& team, RunContext& context);

    // Grows a tree over these features from the root's rows. Its leaves' rows are in leaves() afterwards.
    Tree grow(const NodeRows& root, const std::vector<int>& features);
    const std::vector<Residuals::Leaf>& leaves() const { return leaves_; }
    // Whether the root could not be split: its only leaf is leaves()[0].
    bool is_stump() const { return leaves_.size() == 1; }
    const GrowerClock& clock() const { return clock_; }

    static uint64_t scratch_bytes(const BinnedData& data, const Options& options, int threads);

  private:
    struct Histogram {
        Buffer<Stats> sums, squares;
    };
    // A leaf of the tree so far, with the best way to split it.
    struct Leaf {
        int node;
        int depth;
        NodeRows rows;
        NodeSums sums;
        Split split;
        int histogram = -1; // kept for its children; −1: none
    };
    NodeSums sum_up(const RowSet& rows, int histogram);
    bool may_split(const Leaf& leaf) const;
    Leaf take_next_leaf();
    void expand(Leaf leaf);
    std::pair<NodeRows, NodeRows> partition(const NodeRows& rows, const Split& split);
    void open_children(Leaf left, Leaf right, int parent_histogram);
    void find_split(Leaf& leaf, int histogram);
    // A feature's part of the search for a split.
    struct Searched {
        Candidates found;
        std::vector<BinSums> order; // of a category, as in SplitSearch::scan_categories
    };
    bool is_wide(int feature) const;
    std::vector<Searched> search_histograms(const SplitSearch& search, const RowSet& rows, int histogram);
    void search_histogram(const SplitSearch& search, const Histogram& histogram, int feature, Searched& result);
    void close(const Leaf& leaf);
    void write_split(const Split& split, Node& node) const;
    template <class Side>
    std::pair<NodeRows, NodeRows> partition_by(const NodeRows& rows, const FeatureBins& feature, const Side& side);

    int take_histogram();
    void release_histogram(int histogram);
    void build_histogram(const RowSet& rows, int histogram);
    void subtract_histogram(int from, int what);

    const BinnedData& data_;
    const TrainingRows& training_;
    Residuals& residuals_;
    RowIndex& index_;
    const Options& options_;
    ThreadTeam& team_;
    RunContext& context_;
    HistogramBuilder builder_;
    WideFeatures wide_;
    const size_t most_histograms_; // kept at once
    std::vector<Histogram> histograms_;
    std::vector<int> free_histograms_;
    Buffer<uint8_t> table_sides_;    // by row of a table: does it go left
    Buffer<uint8_t> category_sides_; // by bin; all zero between splits
    Reservation tree_memory_;
    GrowerClock clock_;

    std::vector<int> features_; // of this tree
    std::optional<SplitRules> rules_;
    Tree tree_;
    std::map<int, Leaf> open_;                 // leaves that can be split, by node
    std::set<std::pair<double, int>> by_gain_; // their −gain and node
    std::vector<Residuals::Leaf> leaves_;
    int64_t leaf_count_ = 0;
};

} // namespace btml::boosting
