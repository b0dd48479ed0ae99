// The rows of a join's tables in groups, in an order that follows from their contents wherever a source had them.
#pragma once

#include "core/base/threads.hpp"
#include "core/relational/join/row_groups.hpp"

namespace btml::linear {

// Returns for each table, and each bag of a cyclic join, the rows by groups, which the rest of the join cannot tell
// apart. Groups are in the order of a hash of all that they join with, and rows of a group in that of their contents:
// what has one hash is the same to any sum.
std::vector<relational::RowGroups> groups_by_content(const relational::Join& join, ThreadTeam& team,
                                                     RunContext& context);

} // namespace btml::linear
