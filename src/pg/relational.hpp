// What the SQL functions over joins share.
#pragma once

#include "pg/source/source.hpp"

namespace btml::pg {

// The columns of these names, in this order. Errors invalid_argument for none, as of Source::column, duplicate_column
// for one named twice, wrong_type for a type without a hash function.
std::vector<int> group_columns(const Source& source, const std::vector<std::string>& names);

// Error wrong_type unless the columns of the caller's list are the group columns and a value of this type.
void check_result_columns(TupleDesc result, const Source& source, const std::vector<int>& groups, Oid value_type);

} // namespace btml::pg
