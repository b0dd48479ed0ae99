// A training set whose join rows are never listed: sums of residuals come from queries over the join.
//
// The residual of a join row is its target less the values of the leaves it lies in, so a node's sum for a row ρ of a
// table is Σ y − Σ_ℓ value_ℓ · |ρ ⋈ J^(node) ∩ J^(ℓ)|: one query with row filters for each leaf ℓ of each earlier tree
// (Cromp, Samadian, Pruhs: Relational Boosted Regression Trees, §2, Algorithm 2), many of which are evaluated together
// (FilteredSums). While they are few, residuals are held by cell instead: the join's rows that no condition so far
// tells apart (SubJoin). Rows of a table with equal keys and equal bins are one row that weighs as much. Time and
// memory do not depend on the number of join rows.
//
// Targets and leaf values are integers of 40 bits at most on a grid, and sums are made integers row by row, so the
// trees are those of an EnumeratedSet, whose grid may be finer, but for ties that this rounding decides.
#pragma once

#include "core/boosting/factorised/factorised_residuals.hpp"
#include "core/boosting/factorised/factorised_scores.hpp"
#include "core/boosting/factorised/sketched_squares.hpp"

namespace btml::boosting {

class FactorisedSet : public TrainingSet {
  public:
    // The dataset's columns are in the order of the grouped join's tables, and its tables have no row ids. Takes the
    // dataset's columns, and leaves out the join's rows that equal others once the features are binned. Errors:
    // invalid_argument when no row is left to train on; out_of_range for a weight or a target out of its range.
    // bases: as in LossOptions.
    FactorisedSet(Dataset& dataset, relational::GroupedJoin& join, const Options& options, ThreadTeam& team,
                  RunContext& context, const std::vector<double>& bases = {},
                  const factorised::Allowance& allowance = {});

    // An estimate of the bytes beside the dataset's columns: how many rows of nodes are held depends on the trees.
    static uint64_t bytes(const Dataset& dataset, const relational::GroupedJoin& join, const Options& options);

    const std::vector<FeatureBins>& features() const override { return data_.features; }
    uint64_t train_rows() const override { return populations_.train_rows(); }
    uint64_t holdout_rows() const override { return populations_.holdout_rows(); }
    const Scores& scores() const override { return *scores_; }
    // How sums of squares were estimated; nothing where they were not.
    std::optional<SketchReport> sketch_report() const;
    // Says in which way residuals were summed in the end.
    std::string residuals_report() const { return residuals_.report(); }

    int start(uint64_t iteration, int score, const std::vector<int>& features) override;
    uint64_t rows(int node) const override { return nodes_.rows(node); }
    std::pair<int, int> split(int node, const Split& split) override { return nodes_.split(node, data_, split); }
    const HistogramLayout& layout() const override { return layout_; }
    bool adds_up() const override { return !sketch_; }
    void fill(int node, Histogram& to) override;
    void add(const std::vector<Leaf>& leaves) override;

  private:
    factorised::ResidualQueries& queries() { return residuals_.queries(); }
    relational::Selection bag_of(int node) const { return nodes_.selection(node, populations_.bag()); }
    std::vector<bool> all_tables() const { return std::vector<bool>(join_.tables().size(), true); }
    double nanoseconds_of_rows() const;
    std::vector<bool> only_target() const;
    std::vector<bool> tables_of_features() const;
    factorised::RowWeights start_scores(Dataset& dataset, const std::vector<double>& bases);
    void bin(Dataset& dataset, const factorised::RowWeights& train);
    void leave_out_equal_rows(size_t table);
    void add_to_bins(int node, const factorised::RowSums& sums, Histogram& to);
    void sketch_squares(int node, Histogram& to);
    double exact_squares(int node);
    void subtract_pending();

    const Options& options_;
    ThreadTeam& team_;
    RunContext& context_;
    relational::GroupedJoin& join_;
    const size_t target_table_;
    factorised::TreeNodes nodes_;
    factorised::JoinResiduals residuals_;
    factorised::Populations populations_;
    std::optional<factorised::FactorisedScores> scores_; // once the weights of all rows are known
    BinnedData data_;
    HistogramLayout layout_;
    std::unique_ptr<SketchedSquares> sketch_; // where squares are estimated
    std::vector<Leaf> pending_;               // of the last tree, not yet subtracted
};

} // namespace btml::boosting
