#include "core/relational/streamed/held_rows.hpp"

namespace btml::relational {

namespace {

constexpr const char* rows_memory = "the rows of a join";

template <class T>
void append_values(Buffer<T>& to, const T* values, uint32_t count) {
    const size_t begin = to.size();
    to.reserve(begin + count);
    to.resize(begin + count);
    std::copy(values, values + count, to.begin() + begin);
}

} // namespace

HeldRows::HeldRows(const std::vector<StreamedType>& columns, MemoryBudget& memory)
    : row_bytes_(RowBatch::row_bytes(columns)) {
    for (StreamedType type : columns)
        columns_.push_back({Buffer<int64_t>(memory, rows_memory), Buffer<__int128>(memory, rows_memory),
                            Buffer<uint8_t>(memory, rows_memory), type == StreamedType::decimal});
}

void HeldRows::append(const RowBatch& batch) {
    for (size_t c = 0; c < columns_.size(); c++) {
        const RowBatch::Column& from = batch.column(static_cast<int>(c));
        append_values(columns_[c].words, from.words, batch.rows);
        append_values(columns_[c].nulls, from.nulls, batch.rows);
        if (columns_[c].decimal) append_values(columns_[c].mantissas, from.mantissas, batch.rows);
    }
    rows_ += batch.rows;
}

void HeldRows::view(uint64_t row, std::vector<RowBatch::Column>& columns) {
    columns.clear();
    for (Column& column : columns_)
        columns.push_back({column.words.data() + row, column.decimal ? column.mantissas.data() + row : nullptr,
                           column.nulls.data() + row});
}

} // namespace btml::relational
