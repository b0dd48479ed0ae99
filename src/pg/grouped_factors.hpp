// Factors of a SumProd query over tables of other servers, which send groups of rows in the place of rows.
#pragma once

#include "core/relational/queries/sum_product.hpp"
#include "pg/source/source.hpp"

namespace btml::pg {

// The base relations whose rows other servers would group, so that they send one row for each combination of the
// relation's keys and groups, with btml.sumprod_agg over its factors; none where the query's value might differ in a
// bit from that over rows: only whole numbers are added up in any order, and have no infinities that are not a number
// together. The first `groups` requests are for groups, the others for factors. With sum_product, each relation has a
// second total, of absolute values.
std::vector<GroupedRelation> relations_to_group(const Source& source, const std::vector<ColumnRequest>& requests,
                                                size_t groups, relational::SemiringName semiring, RunContext& context);

} // namespace btml::pg
