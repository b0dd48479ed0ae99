// The rows of a table in memory, in columns: what a bag reads before they are passed on.
#pragma once

#include "core/relational/streamed/row_batch.hpp"

namespace btml::relational {

class HeldRows {
  public:
    HeldRows(const std::vector<StreamedType>& columns, MemoryBudget& memory);

    void append(const RowBatch& batch);
    uint64_t rows() const { return rows_; }
    uint64_t bytes() const { return row_bytes_ * rows_; }

    const Buffer<int64_t>& words(int column) const { return columns_[column].words; }
    const Buffer<uint8_t>& nulls(int column) const { return columns_[column].nulls; }
    // The columns as those of a batch that begins with this row.
    void view(uint64_t row, std::vector<RowBatch::Column>& columns);

  private:
    struct Column {
        Buffer<int64_t> words;
        Buffer<__int128> mantissas; // of decimals
        Buffer<uint8_t> nulls;
        bool decimal;
    };

    std::vector<Column> columns_;
    uint64_t row_bytes_, rows_ = 0;
};

} // namespace btml::relational
