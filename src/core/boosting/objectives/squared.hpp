// Squared loss: (y − F)²/2 of a target y and a score F, whose negative gradient is the residual y − F and whose hessian
// is 1. The residual of every row of the join is held in fixed point, and nothing else.
//
// A training row's residual is an integer on a grid of 2^-k. By Cauchy and Schwarz the weighted sum over any set of
// rows is at most √(Σw · Σwr²), and the squared error does not grow while trees are fitted to all training rows, so a
// grid chosen from the first residuals with three bits to spare keeps every sum below 2^63. All sums of a tree are then
// exact, and with them the model: it depends neither on the order of rows or threads, nor on how the join is stored.
// Should the bound be lost (trees fitted to samples), the grid is made coarser.
#pragma once

#include "core/boosting/objectives/objective.hpp"

namespace btml::boosting {

const Objective& squared_objective();

class Residuals : public RowScores {
  public:
    // Error out_of_range for a target of 1e150 or more in magnitude. Consumes `target`, one value per target row.
    Residuals(const TrainingRows& training, Buffer<double> target, ThreadTeam& team, RunContext& context);

    double base() const override { return base_; } // the training rows' mean
    SumUnits units() const override;
    int64_t leaf_value(Stats total, double learning_rate, double l2) const override;
    double to_number(int64_t value) const override;
    double train_loss() const override;
    std::optional<double> holdout_loss() const override { return holdout_loss_; }

    // out[i] = {weight · residual, weight} of rows[i].
    void gather(const RowList& rows, Stats* out) const override;
    // out[i] = {weight · residual² in square units, weight}.
    void gather_tallies(const RowList& rows, Tally* out) const override;
    void add(const std::vector<Leaf>& leaves, const RowIndex& index) override;

  private:
    struct Task;
    struct alignas(64) Partial;

    void find_base(const Buffer<double>& target);
    void choose_grid(const Buffer<double>& target);
    void coarsen_if_needed();
    int64_t weigh(uint32_t row, int64_t residual) const;
    double weigh_square(uint32_t row, double residual) const;
    void subtract_training(const RowList& rows, int64_t value, Partial& partial);
    void add_up_holdout(const std::vector<Leaf>& leaves, const std::vector<Task>& tasks, const RowIndex& index,
                        double largest);
    template <class Body>
    void for_each_training_row(Body&& body);

    const TrainingRows& training_;
    ThreadTeam& team_;
    RunContext& context_;
    double base_ = 0, first_square_ = 0;
    int grid_ = 0;              // residual = integer · 2^-grid
    Buffer<int64_t> residuals_; // of a held-out row: the bits of a double, which no outlier overflows
    uint128 loss_ = 0;          // Σ weight · residual² of training rows, in squared units of the grid
    uint64_t largest_ = 0;      // no training residual is larger in magnitude
    std::optional<double> holdout_loss_;
};

} // namespace btml::boosting
