#include "core/relational/streamed/row_batch.hpp"

namespace btml::relational {

namespace {

constexpr const char* what_batch = "a batch of rows";

size_t decimals(const std::vector<StreamedType>& columns) {
    return static_cast<size_t>(std::count(columns.begin(), columns.end(), StreamedType::decimal));
}

} // namespace

RowBatch::RowBatch(const std::vector<StreamedType>& columns, MemoryBudget& memory)
    : words_(memory, what_batch, columns.size() * max_rows, int64_t{0}),
      mantissas_(memory, what_batch, decimals(columns) * max_rows, __int128{0}),
      nulls_(memory, what_batch, columns.size() * max_rows, uint8_t{0}) {
    __int128* mantissas = mantissas_.data();
    for (size_t c = 0; c < columns.size(); c++) {
        const bool decimal = columns[c] == StreamedType::decimal;
        own_.push_back({words_.data() + c * max_rows, decimal ? mantissas : nullptr, nulls_.data() + c * max_rows});
        if (decimal) mantissas += max_rows;
    }
    show_own();
}

void RowBatch::keep_shown() {
    for (size_t c = 0; c < own_.size(); c++) {
        if (columns_[c].words == own_[c].words) continue;
        std::copy_n(columns_[c].words, rows, own_[c].words);
        std::copy_n(columns_[c].nulls, rows, own_[c].nulls);
        if (own_[c].mantissas) std::copy_n(columns_[c].mantissas, rows, own_[c].mantissas);
    }
    show_own();
}

uint64_t RowBatch::row_bytes(const std::vector<StreamedType>& columns) {
    return columns.size() * (sizeof(int64_t) + sizeof(uint8_t)) + decimals(columns) * sizeof(__int128);
}

} // namespace btml::relational
