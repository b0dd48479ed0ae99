// Cuts the rows of a join into folds, each of which is scored by a model that was trained on the others.
#pragma once

#include "core/base/run_context.hpp"
#include "core/boosting/objectives/holdout_metric.hpp"
#include "core/boosting/rows/training_rows.hpp"
#include "core/data/dataset.hpp"

namespace btml::validation {

struct Folds {
    // Numbers that are no fold's: of rows that are always trained on, and that no fold sees.
    static constexpr uint16_t always = UINT16_MAX, withheld = UINT16_MAX - 1;

    std::vector<std::string> names;
    std::vector<uint64_t> rows; // of the join, by fold; those of weight 0 do not count
    uint64_t trained_rows = 0;  // always
    uint64_t withheld_rows = 0;
    Buffer<uint16_t> of_row; // of the join

    size_t size() const { return names.size(); }
    // Returns what each row of the join is where a fold is scored, which takes weights from the training itself.
    Buffer<uint8_t> roles(size_t fold, RunContext& context) const;
    // Returns the same where the rows that no fold saw are scored, by a model of all others; or where nothing is.
    Buffer<uint8_t> final_roles(bool scored, RunContext& context) const;
};

// Calls body(row of the join, row of the target's table) for the rows that are not withheld and weigh something.
template <class Body>
void for_each_used(const Dataset& dataset, const Buffer<uint16_t>& of_row, RunContext& context, const Body& body) {
    const RowIds target_ids = dataset.target_ids();
    context.for_each(dataset.rows, 1, [&](uint64_t row) {
        const size_t at = target_ids[row];
        if (of_row[row] != Folds::withheld && (dataset.weight.empty() || dataset.weight[at] > 0)) body(row, at);
    });
}

// Error limit_exceeded where a column has more values than max_folds.
void check_fold_count(const std::string& column, size_t values);

// Takes the folds from dataset.fold, whose categories are in the order of the folds; without it, makes `count` folds of
// the rows of the target's table, by hashes of these contents and the seed: sizes differ by one row at most, and so do
// those of every label; ranked rows stay with their query. Rows that dataset.holdout marks are withheld.
// holdout: what errors call that column. Errors: invalid_argument for fewer rows than folds, for a column that has a
// row of the target's table in two folds or withholds it in some rows of the join only, for a column without a fold,
// for rows that are all withheld, and for a fold that leaves nothing to train on; limit_exceeded for more than
// max_folds.
Folds assign_folds(const Dataset& dataset, const Buffer<uint64_t>& contents, int count, uint64_t seed,
                   RunContext& context, const std::string& holdout = "");

using LoneLabels = std::vector<std::pair<std::string, std::string>>; // labels with their folds

// Checks that folds have the labels that it takes to train without them, and to score them.
// Returns the labels that only one fold has, in the order of their codes: the model that scores them there has never
// seen them. Nothing where the target is a number. Errors invalid_argument naming the fold: of two labels, one that
// leaves rows of one label to train on; one whose rows auc or average_precision is not defined for.
LoneLabels check_labels(const Dataset& dataset, const Folds& folds, boosting::HoldoutMetric metric,
                        RunContext& context);

} // namespace btml::validation
