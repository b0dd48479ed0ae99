// Some rows of one table, column after column: what a streamed table is read by.
#pragma once

#include "core/base/buffer.hpp"
#include "core/relational/streamed/plan.hpp"

#include <memory>

namespace btml::relational {

class RowBatch {
  public:
    static constexpr uint32_t max_rows = 1024;
    static constexpr int32_t max_scale = 16'383; // of a decimal, as in SQL

    RowBatch(const std::vector<StreamedType>& columns, MemoryBudget& memory);

    // A column's values by row; room for max_rows. Plain memory, so that a reader may fill it where no object with a
    // destructor can be. Nobody checks the scales that it fills in; products of decimals do check their own.
    struct Column {
        int64_t* words;      // integers; the bits of numbers; the scales of decimals, which must be 0 to max_scale
        __int128* mantissas; // of decimals; else null
        uint8_t* nulls;      // 1 for NULL, whose word may be anything
    };

    // Returns the bytes that a row of these columns takes.
    static uint64_t row_bytes(const std::vector<StreamedType>& columns);

    Column* columns() { return columns_.data(); }
    const Column& column(int i) const { return columns_[i]; }
    // Shows values that are elsewhere as those of a column, until the batch shows its own again.
    void show(int i, const Column& column) { columns_[i] = column; }
    void show_own() { columns_ = own_; }
    // Copies values that are elsewhere, so that they last as long as the batch.
    void keep_shown();

    uint32_t rows = 0;

  private:
    std::vector<Column> own_, columns_;
    Buffer<int64_t> words_;
    Buffer<__int128> mantissas_;
    Buffer<uint8_t> nulls_;
};

// The rows of a table in memory: what a bag reads before they are passed on.
using HeldRows = std::vector<std::unique_ptr<RowBatch>>;

// Where the rows of a table come from.
class RowSource {
  public:
    virtual ~RowSource() = default;
    // Fills the batch; no rows: there are no more. Values that the batch shows from elsewhere stay there until another
    // table is read, or until the next batch where the rows are in memory.
    virtual void next(RowBatch& batch) = 0;
    // Whether the rows are in memory, so that to read them takes no time; known after the first batch.
    virtual bool is_in_memory() const { return false; }
};

} // namespace btml::relational
