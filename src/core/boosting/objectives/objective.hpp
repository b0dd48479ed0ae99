// Losses that boosting can minimise.
//
// To add one: a file here with a class derived from Objective and one from RowScores (the scores of all rows, held on a
// grid so that every sum is exact), and a line with its name in the table of objective.cpp. Growing, splitting,
// prediction and export reach a loss through these interfaces only.
#pragma once

#include "core/boosting/rows/row_index.hpp"

#include <memory>
#include <optional>

namespace btml::boosting {

// Knows where training stands: what the trees so far leave of the loss, however the rows are held.
class Scores {
  public:
    virtual ~Scores() = default;

    virtual double base() const = 0; // every row's score before the first tree
    virtual SumUnits units() const = 0;
    // Returns what a leaf with these sums should add to the scores of its rows: a step, shrunken by the learning rate,
    // rounded to a number of units of the grid that a double holds exactly; and that as a number.
    virtual int64_t leaf_value(Stats total, double learning_rate, double l2) const = 0;
    virtual double to_number(int64_t value) const = 0;
    // Returns what the log reports: the mean loss; of squared loss, without the half.
    virtual double train_loss() const = 0;
    virtual std::optional<double> holdout_loss() const = 0;
};

// The scores of rows that are held one by one. Rows come in lists, so that a call costs nothing beside its work.
class RowScores : public Scores {
  public:
    struct Leaf {
        const NodeRows* rows;
        int64_t value; // from leaf_value
    };

    // out[i] is what rows[i] adds to sums; its hessian is at least one unit, since sums of it are divided by. Training
    // rows only.
    virtual void gather(const RowList& rows, Stats* out) const = 0;
    virtual void gather_tallies(const RowList& rows, Tally* out) const = 0;
    // Adds each leaf's value to the scores of its rows, and updates the losses. The leaves cover every row.
    virtual void add(const std::vector<Leaf>& leaves, const RowIndex& index) = 0;
};

class Objective {
  public:
    // Says whether every row's hessian is its weight, so that a sum of hessians is a count.
    virtual bool hessian_is_count() const = 0;
    // Says whether sums over a join follow from sums of products, so that the join's rows need not be held.
    virtual bool factorises() const = 0;
    virtual uint64_t row_bytes() const = 0; // of RowScores, for each row
    // The base of the training rows' targets, one for each target row, and the scores of all rows at it. Error
    // out_of_range for a target that the loss is not defined for, or that is too large.
    virtual std::unique_ptr<RowScores> start(const TrainingRows& training, Buffer<double> target, ThreadTeam& team,
                                             RunContext& context) const = 0;
    // The link: the prediction of a score, and the SQL before and after an expression of the score that makes it one.
    virtual double prediction(double score) const = 0;
    virtual std::pair<const char*, const char*> prediction_sql() const = 0;

  protected:
    ~Objective() = default; // there is one of each, for ever
};

// A place in the table of objectives, which has their names.
enum class ObjectiveNumber : uint8_t { squared };
const Objective& objective_of(ObjectiveNumber number);
const char* name_of(ObjectiveNumber number);

} // namespace btml::boosting
