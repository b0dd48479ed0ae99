// Squared loss: (y − F)²/2 of a target y and a score F, whose negative gradient is the residual y − F and whose hessian
// is 1. The residual of every row of the join is held in fixed point, and nothing else.
//
// A training row's residual is an integer on a grid of 2^-k. By Cauchy and Schwarz the weighted sum over any set of
// rows is at most √(Σw · Σwr²), and the squared error does not grow while trees are fitted to all training rows, so a
// grid chosen from the first residuals with three bits to spare keeps every sum below 2^63. All sums of a tree are then
// exact, and with them the model: it depends neither on the order of rows or threads, nor on how the join is stored.
// Where there are many rows with residuals of much the same size, fewer bits will do, and a word holds a sum and a
// count. Should the bound be lost (trees fitted to samples), the grid is made coarser. Where few targets are far from
// all others, no grid does for both, and squared_beside_far_targets() holds the residuals.
#pragma once

#include "core/boosting/objectives/objective.hpp"
#include "core/boosting/rows/number_grid.hpp"

#include <bit>

namespace btml::boosting {

// Has what is known of squared loss however the rows are held. Base: Scores or RowScores.
template <class Base>
class SquaredLoss : public Base {
  public:
    std::vector<double> bases() const override { return {base_}; } // the training rows' mean
    SumUnits units() const override {
        SumUnits units = weight_units_;
        units.grid = grid_ - sum_shift_;
        units.square_unit = std::ldexp(1, square_shift() - 2 * sum_shift_);
        units.first_square = first_square_;
        return units;
    }
    int64_t leaf_value(Stats total, const LeafRule& rule) const override {
        if (total.hessian == 0) return 0;
        const int shift = weight_units_.shift;
        const double weight = std::ldexp(total.hessian, shift - weight_units_.count_scale);
        return rounded_leaf_value(std::ldexp(total.sum, sum_shift_), weight,
                                  {.learning_rate = rule.learning_rate,
                                   .l1 = std::ldexp(rule.l1, shift + grid_),
                                   .l2 = std::ldexp(rule.l2, shift),
                                   .lower = std::ldexp(rule.lower, grid_),
                                   .upper = std::ldexp(rule.upper, grid_)});
    }
    double to_number(int64_t value) const override { return std::ldexp(value, -grid_); }
    // Squares of residuals and values within √(2^126 / weight) have sums below 2^128.
    int64_t to_value(double number) const override {
        return units_of(number, std::ldexp(1, -grid_), std::min(0x1p61, 0x1p63 / std::sqrt(total_weight_)));
    }
    double train_loss() const override { return std::ldexp(static_cast<double>(loss_) / total_weight_, -2 * grid_); }
    std::optional<double> holdout_loss() const override { return holdout_loss_; }

  protected:
    // units: those of weights. total_weight: of the training rows, times 2^shift.
    SquaredLoss(const SumUnits& units, double total_weight) : weight_units_(units), total_weight_(total_weight) {}

    // usual: the size of usual differences from the median. Far targets raise the mean of squares by so much, and draw
    // the base so far from the others, that the gains of these would pass for what rounding feigns.
    void start_train_loss(double usual) {
        constexpr double heavy_tail = 64; // the mean square of residuals without far ones stays below so many
        first_square_ = std::min(train_loss(), heavy_tail * usual * usual);
    }

    // for_each_target(body) calls body(target, weight, is_trained, worker) for the rows that are trained on or held
    // out, with the weight in units of 2^-scale. Error out_of_range for a target that is too large.
    // Where a base is given, it is that.
    template <class ForEachTarget>
    void find_base(const std::vector<double>& given, size_t workers, Peers* peers,
                   const ForEachTarget& for_each_target);
    int square_shift() const { return std::max(0, bit_width(loss_) - 61); }

    const SumUnits weight_units_;
    const double total_weight_;
    double base_ = 0, first_square_ = 0;
    int grid_ = 0;      // a residual: integer · 2^-grid
    int sum_shift_ = 0; // the grid of sums is coarser by so many bits
    uint128 loss_ = 0;  // Σ weight · residual² of training rows, in squared units of the grid
    std::optional<double> holdout_loss_;
};

template <class Base>
template <class ForEachTarget>
void SquaredLoss<Base>::find_base(const std::vector<double>& given, size_t workers, Peers* peers,
                                  const ForEachTarget& for_each_target) {
    TeamSums<SumsByRole<Largest>> found(workers, peers);
    for_each_target([&](double y, int64_t, bool is_trained, int worker) {
        (is_trained ? found[worker].trained : found[worker].held_out) += {std::fabs(y)};
    });
    const SumsByRole<Largest> largest = found.total();
    check_targets(larger(largest.trained.number, largest.held_out.number));
    if (!given.empty()) base_ = given[0];
    if (!given.empty() || largest.trained.number == 0) return;
    const int scale = scale_for_mean(largest.trained.number);
    TeamSums<WeightedSum<int128>> sums(workers, peers);
    for_each_target([&](double y, int64_t weight, bool is_trained, int worker) {
        if (!is_trained) return;
        sums[worker] += {static_cast<int128>(std::llrint(std::ldexp(y, scale))) * weight, weight};
    });
    base_ = mean_of(sums.total(), scale);
}

class Residuals : public SquaredLoss<RowScores> {
  public:
    // Error out_of_range for a target of 1e150 or more in magnitude. Consumes `target`, one value per target row.
    // usual: the size of usual differences from the median.
    Residuals(const TrainingRows& training, Buffer<double> target, double usual, const LossOptions& options,
              ThreadTeam& team, RunContext& context);

    // out[i] = {weight · residual, weight} of rows[i].
    void gather(const RowList& rows, Stats* out) const override;
    // With tallies {weight · residual² in square units, weight}.
    void gather_tallied(const RowList& rows, NodeSums* out) const override;
    StatsFormat stats_format() const override {
        return training_.weighted() ? StatsFormat::full : StatsFormat::unit_hessian;
    }
    int gathered_bits() const override { return training_.weighted() ? 64 : bit_width(uint128{largest_}); }
    void add(const std::vector<Leaf>& leaves, const RowIndex& index) override;
    const TrainingRows& training() const override { return training_; }
    HeldOutRow held_out_row(uint32_t row) const override {
        return {std::bit_cast<double>(residuals_[row]), 0, static_cast<double>(training_.weight(row)), false};
    }

  private:
    struct Passed;

    void choose_grid(const Buffer<double>& target, double usual);
    void coarsen_if_needed();
    void set_loss(const TeamSums<Passed>& passed);
    double held_out_square(uint32_t row) const;
    void subtract_training(const RowList& rows, int64_t value, Passed& passed);
    void start_holdout_loss();
    template <class ForEach>
    void add_up_holdout(const ForEach& for_each_held_out, double largest);

    const TrainingRows& training_;
    ThreadTeam& team_;
    Buffer<int64_t> residuals_; // of a held-out row: the bits of a double, which no outlier overflows
    uint64_t largest_ = 0;      // no training residual is larger in magnitude
};

// Scores of squared loss for targets of which few are far from all others. They start from the median, a leaf's value
// comes from its rows as doubles, and splits see a far residual as a smaller one, so that others lose no precision.
std::unique_ptr<RowScores> squared_beside_far_targets(const TrainingRows& training, Buffer<double> target,
                                                      const std::vector<double>& bases, ThreadTeam& team,
                                                      RunContext& context);

} // namespace btml::boosting
