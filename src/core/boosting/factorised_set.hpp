// A training set whose join rows are never listed: sums of residuals come from queries over the join.
//
// The residual of a join row is its target less the values of the leaves it lies in, so a node's sum for a row ρ of a
// table is Σ y − Σ_ℓ value_ℓ · |ρ ⋈ J^(node) ∩ J^(ℓ)|: one query with row filters for each leaf ℓ of each earlier tree
// (Cromp, Samadian, Pruhs: Relational Boosted Regression Trees, §2, Algorithm 2), many of which are evaluated together
// (FilteredSums). Rows of a table with equal keys and equal bins are one row that weighs as much. Time and memory do
// not depend on the number of join rows.
//
// Targets and leaf values are integers of 40 bits at most on a grid, and sums are made integers row by row, so the
// trees are those of an EnumeratedSet, whose grid may be finer, but for ties that this rounding decides.
#pragma once

#include "core/boosting/objectives/objective.hpp"
#include "core/boosting/sketched_squares.hpp"
#include "core/boosting/training_set.hpp"
#include "core/relational/filtered_sums.hpp"

#include <memory>

namespace btml::boosting {

class FactorisedSet : public TrainingSet, Scores {
  public:
    // The dataset's columns are in the order of the grouped join's tables, and its tables have no row ids. Takes the
    // dataset's columns, and leaves out the join's rows that equal others once the features are binned. Errors:
    // invalid_argument when no row is left to train on; out_of_range for a weight or a target out of its range.
    FactorisedSet(Dataset& dataset, relational::GroupedJoin& join, const Options& options, ThreadTeam& team,
                  RunContext& context);
    ~FactorisedSet() override;

    // An estimate of the bytes beside the dataset's columns: how many rows of nodes are held depends on the trees.
    static uint64_t bytes(const Dataset& dataset, const relational::GroupedJoin& join, const Options& options);

    const std::vector<FeatureBins>& features() const override { return data_.features; }
    uint64_t train_rows() const override { return train_rows_; }
    uint64_t holdout_rows() const override { return holdout_rows_; }
    const Scores& scores() const override { return *this; }
    // How sums of squares were estimated; nothing where they were not.
    std::optional<SketchReport> sketch_report() const;

    int start(uint64_t tree, const std::vector<int>& features) override;
    uint64_t rows(int node) const override;
    std::pair<int, int> split(int node, const Split& split) override;
    const HistogramLayout& layout() const override { return layout_; }
    bool adds_up() const override { return !sketch_; }
    void fill(int node, Stats* sums, Tally* tallies) override;
    void add(const std::vector<Leaf>& leaves) override;

  private:
    double base() const override { return base_; }
    double train_loss() const override;
    std::optional<double> holdout_loss() const override { return holdout_loss_; }
    SumUnits units() const override;
    int64_t leaf_value(Stats total, const Options& options) const override;
    double to_number(int64_t value) const override;

    static constexpr uint64_t pairs_at_once = 256; // of queries, for exact squares

    using Subset = std::shared_ptr<const relational::RowSubset>;
    struct Node {
        std::vector<Subset> rows; // by table
    };
    // By table and row. Weights that say which join rows, a population: an empty buffer: 1 each.
    using RowWeights = std::vector<Buffer<double>>;
    // By row of each table; of tables that are not asked for, empty.
    struct RowSums {
        std::vector<Buffer<double>> sums, counts;
    };

    void start_filters();
    void normalise_weights(Dataset& dataset);
    void choose_rows(const Dataset& dataset);
    RowWeights start_residuals(Dataset& dataset);
    void bin(Dataset& dataset, const RowWeights& train);
    void leave_out_equal_rows(size_t t);
    void poll_at(size_t row);
    int64_t to_count(double weight) const;
    double shifted(double weight) const;
    RowWeights population(const Dataset& dataset, bool held_out);
    uint64_t count_rows(const Dataset& dataset, bool held_out);
    RowWeights multiplicities(const RowWeights& population, const std::vector<bool>& tables);
    std::vector<bool> all_tables() const;
    std::vector<bool> only_target() const;
    RowSums no_sums(const std::vector<bool>& tables) const;
    static std::vector<double*> pointers(std::vector<Buffer<double>>& buffers);
    relational::Selection selection(const Node& node, const RowWeights& population) const;
    relational::FilterQuery plain_query(double coefficient, int power) const;
    void find_base(const Buffer<double>& target, const Buffer<double>& train, const Buffer<double>& held_out);
    void choose_grid(const Buffer<double>& target, const Buffer<double>& train, const Buffer<double>& held_out);
    double sum_squares(const Buffer<double>& target, const Buffer<double>& train, int grid);
    void refine_sums();
    double square_unit() const;
    std::vector<bool> tables_of_features() const;
    void count_squares(const Node& node, RowSums& sums);
    void sketch_squares(int node, const Stats* sums, Tally* out);
    double exact_squares(const Node& node);
    void add_to_bins(const Node& node, const RowSums& sums, const std::vector<Buffer<double>>& squares, Stats* out,
                     Tally* out_tallies);
    relational::FilterQuery query_of(const Leaf& leaf);
    std::vector<relational::FilterQuery> take_pending();
    void update_losses(const std::vector<Leaf>& leaves);
    relational::FilteredSums::Total leaf_total(const Leaf& leaf, const RowWeights& population);
    void sample(uint64_t tree);

    const Options& options_;
    ThreadTeam& team_;
    RunContext& context_;
    relational::GroupedJoin& join_;
    const int target_table_;
    BinnedData data_;

    bool weighted_ = false;
    int weight_exponent_ = 0;              // weights are held in units of 2^weight_exponent
    int scale_ = 0, shift_ = 0;            // as in TrainingRows
    RowWeights train_, held_out_, in_bag_; // the last empty where all rows are in the bag
    uint64_t train_rows_ = 0, holdout_rows_ = 0;
    double train_count_ = 0, holdout_count_ = 0; // weights

    double base_ = 0, first_square_ = 0;
    int value_grid_ = 0;         // a value: integer · 2^-value_grid
    int sum_shift_ = 0;          // the grid of sums is coarser by so many bits
    Buffer<double> values_;      // target − base, on the grid, by row of the target's table
    int128 loss_ = 0;            // Σ weight · residual² of training rows, in squared units of the value grid
    double holdout_squares_ = 0; // Σ weight · residual²
    std::optional<double> holdout_loss_;

    std::vector<relational::RowFilters> filters_;   // by table
    std::vector<relational::FilterQuery> residual_; // the residual as a sum of queries
    const relational::FilteredJoin filtered_;
    relational::FilteredSums queries_;
    std::unique_ptr<SketchedSquares> sketch_; // where squares are estimated
    std::vector<Node> nodes_;
    std::vector<Leaf> pending_; // of the last tree, not yet among the queries
    RowSums root_;              // of all training rows, kept up to date; not used with row_fraction below 1
    HistogramLayout layout_;
};

} // namespace btml::boosting
