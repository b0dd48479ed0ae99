// Cuts the rows of a join into folds, each of which is scored by a model that was trained on the others, or on the rows
// before it.
#pragma once

#include "core/base/run_context.hpp"
#include "core/boosting/objectives/holdout_metric.hpp"
#include "core/boosting/rows/training_rows.hpp"
#include "core/data/dataset.hpp"
#include "core/validation/validation_options.hpp"

#include <functional>

namespace btml::validation {

struct Folds {
    // Numbers that are no fold's: of rows that are always trained on, and that no fold sees.
    static constexpr uint16_t always = UINT16_MAX, withheld = UINT16_MAX - 1;

    std::vector<std::string> names;
    std::vector<uint64_t> rows; // of the join, by fold; those of weight 0 do not count
    uint64_t trained_rows = 0;  // always
    uint64_t withheld_rows = 0;
    Buffer<uint16_t> of_row; // of the join
    // Where folds follow each other: the first fold, by row of the join, whose model is trained on the row. Those of
    // the later folds are trained on it, too.
    std::optional<Buffer<uint16_t>> trains_from = {};

    size_t size() const { return names.size(); }
    // Says of a row that is not withheld whether the fold's model is trained on it.
    bool is_trained(uint64_t row, size_t fold) const {
        return trains_from ? (*trains_from)[row] <= fold : of_row[row] != fold;
    }
    // Returns what each row of the join is where a fold is scored, which takes weights from the training itself.
    Buffer<uint8_t> roles(size_t fold, RunContext& context) const;
    // Returns the same where the rows that no fold saw are scored, by a model of all others; or where nothing is.
    Buffer<uint8_t> final_roles(bool scored, RunContext& context) const;
};

// Says whether a row of the target's table counts.
inline bool weighs(const Dataset& dataset, size_t target_row) {
    return dataset.weight.empty() || dataset.weight[target_row] > 0;
}

// Calls body(row of the join, row of the target's table) for the rows that are not withheld and weigh something.
template <class Body>
void for_each_used(const Dataset& dataset, const Buffer<uint16_t>& of_row, RunContext& context, const Body& body) {
    const RowIds target_ids = dataset.target_ids();
    context.for_each(dataset.rows, 1, [&](uint64_t row) {
        const size_t at = target_ids[row];
        if (of_row[row] != Folds::withheld && weighs(dataset, at)) body(row, at);
    });
}

// Returns what errors call the divider, as in: group_by "customer".
std::string called_column(Division division, const std::string& column);
// Throws null_value; column: as of called_column.
[[noreturn]] void refuse_no_group(const std::string& column);
// Throws invalid_argument for a row of the target's table that has parts of both kinds, as in: rows of different folds.
[[noreturn]] void refuse_cut(const std::string& column, const char* parts);
// Error limit_exceeded where a column has more values than max_folds.
void check_fold_count(const std::string& column, size_t values);

// How the column dataset.divider divides rows.
struct DivisionRule {
    Division division = Division::fold;
    // Of order_by: where the first value that a fold scores is `first`, rows of values below train_end(first) ≤ first
    // are trained on. It never falls as `first` grows. Empty: all rows before are.
    std::function<double(double first)> train_end = {};
};

// By dataset.divider, and where there is none by hashes of the contents of the target's rows and the seed:
// - fold: each category is a fold, in their order; NULL is trained on and never scored.
// - order_by: finite numbers, by which the rows of the join are cut into count + 1 parts of about one size. Each part
//   but the first is a fold, whose model is trained on the rows before it. Rows of one value are in one part.
// - group_by: categories, which are dealt to `count` folds by hashes of their names and the seed.
// - Without a column, rows of the target's table are dealt: sizes differ by one row at most, and so do those of every
//   label; ranked rows stay with their query.
// Rows that dataset.holdout marks are withheld. holdout: what errors call that column. Rows of weight 0 may have any
// value.
// Errors: invalid_argument for fewer rows, groups or values than it takes, for a column of which a row of the target's
// table meets two values or that withholds it in some rows of the join only, for a column without a fold, for rows that
// are all withheld, and for a fold that leaves nothing to train on; null_value and out_of_range for what cannot be
// ordered or grouped; limit_exceeded for more than max_folds.
Folds assign_folds(const Dataset& dataset, const Buffer<uint64_t>& contents, int count, uint64_t seed,
                   RunContext& context, const std::string& holdout = "", const DivisionRule& rule = {});

using LoneLabels = std::vector<std::pair<std::string, std::string>>; // labels with their folds

// Checks that folds have the labels that it takes to train without them, and to score them.
// Returns the labels of a fold that its model has never seen, in the order of their codes. Nothing where the target is
// a number. Errors invalid_argument naming the fold: of two labels, one that leaves rows of one label to train on; one
// whose rows auc or average_precision is not defined for.
LoneLabels check_labels(const Dataset& dataset, const Folds& folds, boosting::HoldoutMetric metric,
                        RunContext& context);

} // namespace btml::validation
