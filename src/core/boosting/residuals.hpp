// The residual of every row of the join in fixed point.
//
// A training row's residual is an integer on a grid of 2^-k. By Cauchy and Schwarz the weighted sum over any set of
// rows is at most √(Σw · Σwr²), and the squared error does not grow while trees are fitted to all training rows, so a
// grid chosen from the first residuals with three bits to spare keeps every sum below 2^63. All sums of a tree are then
// exact, and with them the model: it depends neither on the order of rows or threads, nor on how the join is stored.
// Should the bound be lost (trees fitted to samples), the grid is made coarser.
#pragma once

#include "core/boosting/row_index.hpp"

#include <optional>

namespace btml::boosting {

class Residuals {
  public:
    // Error out_of_range for a target of 1e150 or more in magnitude. Consumes `target`, one value per target row.
    Residuals(const TrainingRows& training, Buffer<double> target, ThreadTeam& team, RunContext& context);

    double base() const { return base_; } // the training rows' mean
    int grid() const { return grid_; }    // residual = integer · 2^-grid
    double train_loss() const;            // mean squared residual
    std::optional<double> holdout_loss() const { return holdout_loss_; }

    // out[i] = {weight · residual, weight} of rows[i]. Training rows only.
    void gather(const RowList& rows, Stats* out) const;
    // out[i] = {weight · residual² in units of square_unit(), weight}.
    void gather_tallies(const RowList& rows, Tally* out) const;
    // One unit of a gathered square, in squared units of the grid.
    double square_unit() const;

    // What a leaf with these sums should subtract, in units of the grid: learning_rate · sum / (weight + l2), rounded
    // to a number that a double holds exactly.
    int64_t leaf_value(Stats total, double learning_rate, double l2) const;
    double to_number(int64_t value) const;

    struct Leaf {
        const NodeRows* rows;
        int64_t value; // from leaf_value
    };
    // Subtracts each leaf's value from its rows, and updates the losses. The leaves cover every row.
    void subtract(const std::vector<Leaf>& leaves, const RowIndex& index);

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
    double base_ = 0;
    int grid_ = 0;
    Buffer<int64_t> residuals_; // of a held-out row: the bits of a double, which no outlier overflows
    uint128 loss_ = 0;          // Σ weight · residual² of training rows, in squared units of the grid
    uint64_t largest_ = 0;      // no training residual is larger in magnitude
    std::optional<double> holdout_loss_;
};

} // namespace btml::boosting
