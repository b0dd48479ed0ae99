// Rows of a table that no query over a join tells apart: with equal keys and equal bins.
#pragma once

#include "core/boosting/binning.hpp"
#include "core/relational/grouped_join.hpp"

namespace btml::boosting {

// By row of a table: the first row of its group (see GroupedTable) with the same bins and, where there are any, the
// same value; itself where no row before it is so.
Buffer<relational::RowId> find_equal_rows(const BinnedData& data, const BinnedTable& table,
                                          const relational::GroupedTable& grouped, const Buffer<double>* values,
                                          ThreadTeam& team, RunContext& context);

} // namespace btml::boosting
