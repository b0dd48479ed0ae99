// Base relations of a join, in columns.
#pragma once

#include "core/base/buffer.hpp"
#include "core/numbers/number.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace btml::relational {

// A join key, numbered densely: equal SQL values of one join attribute have the same key in every table.
using Key = uint32_t;
inline constexpr Key null_key = UINT32_MAX; // SQL NULL: joins to nothing

using RowId = uint32_t;                              // a row of one table
inline constexpr uint64_t max_rows = UINT32_MAX - 1; // of one table

// A column of one table that takes part in the join.
struct KeyColumn {
    int attribute; // vertex of the join's hypergraph: columns of different tables with the same number must be equal
    Buffer<Key> values;
};

using KeyColumns = std::vector<const Buffer<Key>*>;

// A column that is carried along: a number per row (null_number for NULL), or a code per row into `categories`.
struct DataColumn {
    static constexpr uint32_t null_code = UINT32_MAX;
    enum class Kind { number, category };

    std::string name;
    Kind kind;
    Buffer<double> numbers;               // kind number
    Buffer<uint32_t> codes;               // kind category; null_code for NULL
    std::vector<std::string> categories;  // kind category: the label of each code
    double null_row_number = null_number; // the value of the row that stands for "no match" in a left join
    uint32_t null_row_code = null_code;

    bool has_value(size_t row) const { return kind == Kind::number ? !is_null(numbers[row]) : codes[row] != null_code; }
};

struct Table {
    std::string name;
    uint64_t rows = 0;
    std::vector<KeyColumn> keys;
    std::vector<DataColumn> columns;
    // A hash of each row's values, those of its keys included: what names rows, and puts them in an order, that does
    // not depend on where they lie. Only joins that are sampled or sketched have it.
    std::optional<Buffer<uint64_t>> content;
};

// `left` LEFT JOIN `right` on equality of the paired key columns (given apart from Table::keys: they bind these two
// tables only). Table numbers refer to the vector handed to Join.
struct LeftJoin {
    int left, right;
    std::vector<Buffer<Key>> left_keys, right_keys; // same length ≥ 0, one Key per row
};

// Error internal unless every column has as many values as the table has rows; limit_exceeded beyond max_rows.
void check_shape(const Table& table);

// Error internal when the table lacks the attribute.
const Buffer<Key>& key_column(const Table& table, int attribute);

// Gives every row but the first of several with one content another: a hash of that content and of the row's number
// among those. Equal rows can be exchanged, so the contents of a table are the same wherever its rows lie.
void tell_equal_rows_apart(Buffer<uint64_t>& content, RunContext& context);

// One more row: null_key in every key column, the null row's value in every data column, a hash of its own. Error
// limit_exceeded where max_rows leaves no room for it.
void append_null_row(Table& table);

// Which rows of a table stay: one byte for each, 1 or 0.
using RowMask = Buffer<uint8_t>;

uint64_t count_kept(const RowMask& mask);

// The rows that stay, in their order; the memory of the others is given back.
template <class T>
void keep_rows(Buffer<T>& values, const RowMask& mask, uint64_t kept, RunContext& context) {
    uint64_t next = 0;
    context.in_blocks(mask.size(), 1, [&](uint64_t begin, uint64_t end) {
        T* const value = values.data();
        uint64_t to = next;
        for (uint64_t row = begin; row < end; row++) {
            value[to] = value[row];
            to += mask[row];
        }
        next = to;
    });
    values.resize(kept);
    values.shrink_to_fit();
}

void keep_rows(Table& table, const RowMask& mask, uint64_t kept, RunContext& context);

} // namespace btml::relational
