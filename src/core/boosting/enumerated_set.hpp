// A training set whose join rows are held one by one, as row ids into the tables, with a residual each.
#pragma once

#include "core/boosting/histogram.hpp"
#include "core/boosting/training_set.hpp"
#include "core/boosting/wide_features.hpp"

namespace btml::boosting {

class EnumeratedSet : public TrainingSet {
  public:
    // What binning and residuals took: rows of the training set, its features and where its residuals stand.
    EnumeratedSet(BinnedData data, const TrainingRows& training, Residuals residuals, const Options& options,
                  ThreadTeam& team, RunContext& context);

    static uint64_t scratch_bytes(const BinnedData& data, const Options& options, int threads);

    const std::vector<FeatureBins>& features() const override { return data_.features; }
    double base() const override { return residuals_.base(); }
    uint64_t train_rows() const override { return training_.train_rows(); }
    uint64_t holdout_rows() const override { return training_.holdout_rows(); }
    double train_loss() const override { return residuals_.train_loss(); }
    std::optional<double> holdout_loss() const override { return residuals_.holdout_loss(); }
    SumUnits units() const override { return sum_units(training_, residuals_); }
    int64_t leaf_value(Stats total, double learning_rate, double l2) const override {
        return residuals_.leaf_value(total, learning_rate, l2);
    }
    double to_number(int64_t value) const override { return residuals_.to_number(value); }

    int start(uint64_t tree, const std::vector<int>& features) override;
    uint64_t rows(int node) const override { return node_rows(node)[in_bag].size(); }
    NodeSums sum(int node) override;
    std::pair<int, int> split(int node, const Split& split) override;
    size_t bins() const override { return builder_.bins(); }
    bool in_histogram(int feature) const override {
        return data_.features[static_cast<size_t>(feature)].size() <= max_histogram_bins;
    }
    size_t offset(int feature) const override { return builder_.offset(feature); }
    size_t max_bins() const override;
    void fill(int node, Stats* sums, Tally* tallies) override;
    void search(int feature, int node, const SplitSearch& search, std::vector<BinSums>& order,
                Candidates& found) override {
        wide_.search(feature, node_rows(node)[in_bag], search, order, found);
    }
    void subtract(const std::vector<Leaf>& leaves) override;

  private:
    const NodeRows& node_rows(int node) const { return nodes_[static_cast<size_t>(node)]; }
    template <class Side>
    std::pair<NodeRows, NodeRows> partition(const NodeRows& rows, const FeatureBins& feature, const Side& side);

    BinnedData data_;
    const TrainingRows& training_;
    Residuals residuals_;
    const Options& options_;
    ThreadTeam& team_;
    RowIndex index_;
    HistogramBuilder builder_;
    WideFeatures wide_;
    Buffer<uint8_t> table_sides_;    // by row of a table: does it go left
    Buffer<uint8_t> category_sides_; // by bin; all zero between splits
    std::vector<NodeRows> nodes_;
};

} // namespace btml::boosting
