// Holds a fraction of a join's rows out where no column says which.
#pragma once

#include "core/relational/join/join_dataset.hpp"
#include "core/validation/validation_options.hpp"

namespace btml::validation {

struct HeldFraction {
    double fraction; // between 0 and 1
    uint64_t seed;
    Division division = Division::fold; // fold: there is no column
};

// Makes a column of the join, plan.holdout, that says what is held out. Whatever the order of rows, it is the same.
// - order_by: the last rows of the join by plan.divider, finite numbers; values are whole, and the part is the nearest
//   to the fraction.
// - group_by: this part of the groups, the categories of plan.divider, those of the least hashes of name and seed.
// - Without a column this part of the rows of the target's table, those of the least hashes of their contents and the
//   seed, as much of each label; of ranked rows queries.
// plan.divider is none afterwards. At least one value, group, query or row is held out, and one is not: error
// invalid_argument where there are not two, and where a row of the target's table is held out in some rows of the join
// and not in others. Rows of weight 0 do not count and may have any value. The target is read already, and the target's
// table has contents where there is no column. Errors null_value and out_of_range as of assign_folds.
void hold_out(relational::Join& join, relational::DatasetPlan& plan, const HeldFraction& held, RunContext& context);

} // namespace btml::validation
