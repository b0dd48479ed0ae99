// A training set whose join rows are held one by one, as row ids into the tables, with a residual each.
#pragma once

#include "core/boosting/binning/bin_columns.hpp"
#include "core/boosting/growing/histogram.hpp"
#include "core/boosting/growing/wide_features.hpp"

namespace btml::boosting {

class EnumeratedSet : public TrainingSet, FeatureSearch {
  public:
    // room_for_copies: bytes that copies of bins may take, which make training faster.
    // The data must outlive it.
    EnumeratedSet(const BinnedData& data, const TrainingRows& training, std::unique_ptr<RowScores> scores,
                  const Options& options, uint64_t room_for_copies, ThreadTeam& team, RunContext& context);

    static uint64_t scratch_bytes(const BinnedData& data, const Options& options, int threads);

    const std::vector<FeatureBins>& features() const override { return data_.features; }
    uint64_t train_rows() const override { return training_.train_rows(); }
    uint64_t holdout_rows() const override { return training_.holdout_rows(); }
    const Scores& scores() const override { return *scores_; }

    int start(uint64_t iteration, int score, const std::vector<int>& features) override;
    int nodes() const { return static_cast<int>(nodes_.size()); } // of the tree under construction
    uint64_t rows(int node) const override { return node_rows(node)[in_bag].size(); }
    std::pair<int, int> split(int node, const Split& split) override;
    const HistogramLayout& layout() const override { return builder_.layout(); }
    void fill(int node, Histogram& to) override;
    FeatureSearch* wide_features() override { return this; }
    bool renews() const override { return scores_->renews(); }
    int64_t renewed_value(std::span<const int> nodes, const LeafRule& rule) override;
    void add(const std::vector<Leaf>& leaves) override;

  private:
    void search(int feature, int node, const SplitSearch& search, std::vector<BinSums>& order,
                Candidates& found) override {
        wide_.search(feature, node_rows(node)[in_bag], search, order, found);
    }
    NodeSums sum(int node) override;
    // Takes the counts out of sums of hessians.
    void unpack(int bits, Histogram& histogram) const;
    const NodeRows& node_rows(int node) const { return nodes_[node]; }
    template <class Side>
    std::pair<NodeRows, NodeRows> partition(const NodeRows& rows, size_t feature, const Side& side);

    const BinnedData& data_;
    const TrainingRows& training_;
    std::unique_ptr<RowScores> scores_;
    const Options& options_;
    ThreadTeam& team_;
    RowIndex index_;
    std::optional<Records> records_; // where there is room for them
    Columns columns_;
    HistogramBuilder builder_;
    WideFeatures wide_;
    Buffer<uint8_t> table_sides_; // by row of a table: does it go left
    BinSides bin_sides_;
    std::vector<NodeRows> nodes_;
};

} // namespace btml::boosting
