// Squared loss over a factorised join, of which only sums are known: its base, and grids of values and of sums.
#pragma once

#include "core/boosting/factorised/factorised_rows.hpp"
#include "core/boosting/growing/training_set.hpp"
#include "core/boosting/objectives/squared.hpp"
#include "core/relational/filtered/filtered_sums.hpp"

#include <functional>

namespace btml::boosting::factorised {

class FactorisedScores : public SquaredLoss<Scores> {
  public:
    // Takes the targets of the target table's rows, and the weight of the join rows that each has in the training set
    // and in the holdout (empty: none). Writes the first residuals to `values`, as integers on a grid. bases: as in
    // LossOptions. Error out_of_range for a target that is too large; NotWorthIt where few targets are so far from all
    // others that sums would lose these.
    FactorisedScores(const Buffer<double>& target, const Buffer<double>& train, const Buffer<double>& held_out,
                     const WeightUnits& weights, const std::vector<double>& bases, Buffer<double>& values,
                     ThreadTeam& team, RunContext& context);

    // Σ weight · residual of values times this is a histogram's sum.
    double sum_scale() const { return std::ldexp(weights_.shifted(1), -sum_shift_); }
    // One of a histogram's squares as Σ weight · residual² of values.
    double square_unit() const { return std::ldexp(units().square_unit, 2 * sum_shift_) / weights_.shifted(1); }
    // Σ weight · residual² of the training rows, in squares of values.
    double squares() const { return static_cast<double>(loss_) / weights_.shifted(1); }

    // Updates the losses, by sums over a leaf's rows of Σ weight · residual of values before. Those of the training
    // rows are in the leaves themselves where `trained` is empty: where the tree learned from every training row.
    using Totals = std::function<relational::FilteredSums::Total(const TrainingSet::Leaf&)>;
    void add(const std::vector<TrainingSet::Leaf>& leaves, const Totals& trained, const Totals& held_out);

  private:
    struct Rows {
        const Buffer<double>&target, &train, &held_out;
    };
    void choose_grid(const Rows& rows, Buffer<double>& values, ThreadTeam& team, RunContext& context);
    TargetSizes sizes_of(const Rows& rows, ThreadTeam& team, RunContext& context) const;
    double sum_squares(const Rows& rows, int grid, RunContext& context) const;
    void start_losses(const Rows& rows, const Buffer<double>& values, RunContext& context);
    void refine_sums();

    const WeightUnits weights_;
    const double train_weight_, holdout_weight_;
    double usual_ = 0;           // the size of usual residuals before the first tree
    double holdout_squares_ = 0; // Σ weight · residual²
};

} // namespace btml::boosting::factorised
