// Composite join keys of two tables as one dense code per row.
#pragma once

#include "core/relational/join/table.hpp"

namespace btml::relational {

// Rows of the two tables have the same code below `count` exactly if they agree in every column pair. The code `count`
// itself joins to nothing: some key is NULL, or known not to occur on the other side.
struct KeyCodes {
    Key count = 0;
    Buffer<Key> left, right;
};

// left[i] and right[i] are the i-th columns of the key, one Key per row; with no columns every row has code 0.
KeyCodes encode_keys(const KeyColumns& left, uint64_t left_rows, const KeyColumns& right, uint64_t right_rows,
                     RunContext& context);

} // namespace btml::relational
