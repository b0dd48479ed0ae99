#include "core/relational/sorted_relation.hpp"

#include <array>

namespace btml::relational {

namespace {

constexpr const char* what = "the sorted keys of a cyclic join";
constexpr int digit_bits = 11;
constexpr size_t digits = size_t{1} << digit_bits;

using Columns = std::vector<const Buffer<Key>*>;

Buffer<RowId> complete_rows(const Columns& columns, const RowMask& mask, MemoryBudget& memory, RowBlocks& blocks) {
    Buffer<RowId> rows(memory, what);
    rows.reserve(count_kept(mask));
    blocks.run(mask.size(), [&](uint64_t begin, uint64_t end) {
        for (uint64_t row = begin; row < end; row++) {
            bool complete = mask[row] != 0;
            for (const Buffer<Key>* column : columns) complete &= (*column)[row] != null_key;
            if (complete) rows.append_reserved(static_cast<RowId>(row));
        }
    });
    return rows;
}

// One stable pass of a radix sort, by one digit of a column.
void sort_by_digit(Buffer<RowId>& rows, Buffer<RowId>& spare, const Buffer<Key>& column, int shift, RowBlocks& blocks) {
    std::array<uint64_t, digits> places{};
    const auto digit = [&](uint64_t i) { return (column[rows[i]] >> shift) % digits; };
    blocks.run(rows.size(), [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++) places[digit(i)]++;
    });
    uint64_t place = 0;
    for (uint64_t& next : places) place += std::exchange(next, place);
    blocks.run(rows.size(), [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++) spare[places[digit(i)]++] = rows[i];
    });
    std::swap(rows, spare);
}

void sort_rows(Buffer<RowId>& rows, const Columns& columns, MemoryBudget& memory, RowBlocks& blocks) {
    Buffer<RowId> spare(memory, what, rows.size());
    for (size_t c = columns.size(); c-- > 0;) {
        const Buffer<Key>& column = *columns[c];
        Key varying = 0;
        blocks.run(rows.size(), [&](uint64_t begin, uint64_t end) {
            for (uint64_t i = begin; i < end; i++) varying |= column[rows[i]] ^ column[rows[0]];
        });
        for (int shift = 0; shift < 32; shift += digit_bits)
            if ((varying >> shift) % digits != 0) sort_by_digit(rows, spare, column, shift, blocks);
    }
}

} // namespace

SortedRelation project(const Table& table, const RowMask& mask, std::vector<int> attributes, MemoryBudget& memory,
                       RowBlocks& blocks) {
    Columns columns;
    for (int attribute : attributes) columns.push_back(&key_column(table, attribute));
    Buffer<RowId> rows = complete_rows(columns, mask, memory, blocks);
    sort_rows(rows, columns, memory, blocks);
    // The first row of each run of equal ones.
    uint64_t distinct = 0;
    blocks.run(rows.size(), [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; i++) {
            bool repeated = distinct > 0;
            for (const Buffer<Key>* column : columns)
                repeated = repeated && (*column)[rows[i]] == (*column)[rows[distinct - 1]];
            if (!repeated) rows[distinct++] = rows[i];
        }
    });
    SortedRelation sorted{std::move(attributes), {}, distinct};
    for (const Buffer<Key>* column : columns) {
        Buffer<Key>& values = sorted.columns.emplace_back(memory, what, distinct);
        blocks.run(distinct, [&](uint64_t begin, uint64_t end) {
            for (uint64_t i = begin; i < end; i++) values[i] = (*column)[rows[i]];
        });
    }
    return sorted;
}

} // namespace btml::relational
