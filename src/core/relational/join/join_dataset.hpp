// Columns of a reduced join as a training set.
#pragma once

#include "core/data/dataset.hpp"
#include "core/relational/join/grouped_join.hpp"
#include "core/relational/join/join_rows.hpp"

#include <functional>
#include <optional>

namespace btml::relational {

struct ColumnRef {
    int table, column; // Table, DataColumn
};

inline DataColumn& column_at(Join& join, const ColumnRef& place) {
    return join.tables()[place.table].columns[place.column];
}
inline const DataColumn& column_at(const Join& join, const ColumnRef& place) {
    return join.tables()[place.table].columns[place.column];
}

struct FeatureRef {
    ColumnRef place;
    std::string type;  // SQL type name
    int direction = 0; // as in FeatureColumn
};

struct DatasetPlan {
    ColumnRef target;                  // numbers
    std::optional<ColumnRef> weight;   // of the target's table
    std::optional<ColumnRef> holdout;  // NULL counts as false
    std::optional<FeatureRef> offset;  // of the target's table, numbers
    std::optional<ColumnRef> query;    // of the target's table
    std::optional<FeatureRef> divider; // categories, or numbers that order rows
    std::vector<FeatureRef> features;  // no column twice
    std::vector<std::string> labels;   // that the target's numbers are codes of; empty: they are numbers
    std::vector<double> label_weights; // empty: 1
};

// Gives a column these of its categories, which are numbered in this order from now on; no row may have another.
void renumber_categories(DataColumn& column, const std::vector<uint32_t>& order, RunContext& context);

// Drops categories that no row has, and numbers the others anew, in their order.
void drop_unused_categories(DataColumn& column, RunContext& context);

// Returns how many of the join's rows each row of a table is part of.
Buffer<double> repeats_of_rows(const Join& join, int table, RunContext& context);

// Shares the weight of each row of the target's table, 1 where the plan has no weights, among its repeats, so that they
// weigh as much in sum as the row did. Errors as of make_dataset for weights.
void share_weights(Join& join, DatasetPlan& plan, const Buffer<double>& repeats, RunContext& context);

// Consumes the join. Errors: out_of_range for a target, weight or offset that is NaN or infinite, or a weight that is
// negative; null_value for a weight, offset or query of NULL. Rows whose target is NULL must have been filtered out.
// Categories that no row has any more are dropped, so that the join gives the same model as its materialisation.
Dataset make_dataset(Join join, JoinRows rows, const DatasetPlan& plan, RunContext& context);

// Removes from the tables what none of these rows of the join is made of, and numbers the row ids anew, so that the
// dataset is that of the rows' materialisation. The join is good for make_dataset only, afterwards.
void keep_rows_of(Join& join, JoinRows& rows, RunContext& context);

// Returns an order of the rows of a table; an empty one is their own.
using RowOrders = std::function<const Buffer<RowId>&(int table)>;

// Makes one whose columns are in these orders; there are no row ids.
Dataset make_dataset(Join join, const RowOrders& order_of, const DatasetPlan& plan, RunContext& context);

// Makes one for fit_factorised, in the order of the grouped join.
inline Dataset make_dataset(Join join, const GroupedJoin& grouped, const DatasetPlan& plan, RunContext& context) {
    const auto order_of = [&](int table) -> const Buffer<RowId>& { return grouped.tables()[table].order; };
    return make_dataset(std::move(join), order_of, plan, context);
}

} // namespace btml::relational
