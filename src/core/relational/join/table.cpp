#include "core/relational/join/table.hpp"

#include "core/data/dictionary.hpp"

#include <bit>
#include <numeric>

namespace btml::relational {

namespace {

constexpr uint64_t null_row_content = 0;                // as likely as any other hash
constexpr uint64_t stream_of_equal_rows = 0x657175616c; // "equal"

void check_length(const Table& table, size_t length) {
    if (length != table.rows)
        throw Error(ErrorCode::internal,
                    format("a column of table \"%s\" has %zu values, the table has %" PRIu64 " rows",
                           table.name.c_str(), length, table.rows));
}

template <class T>
void append(Buffer<T>& values, T value) {
    values.resize(values.size() + 1); // push_back would reserve half as much again
    values[values.size() - 1] = value;
}

// Remembers which of some hashes come twice, and a few more, in 4 bytes a hash at most.
class Repeated {
  public:
    Repeated(const Buffer<uint64_t>& hashes, RunContext& context)
        : mask_(std::bit_ceil(slots_per_hash * hashes.size() + 64) - 1),
          once_(hashes.budget(), what, (mask_ + 1) / 64, uint64_t{0}),
          twice_(hashes.budget(), what, (mask_ + 1) / 64, uint64_t{0}) {
        context.for_each(hashes.size(), 1, [&](uint64_t i) {
            const uint64_t slot = hashes[i] & mask_, bit = uint64_t{1} << slot % 64;
            twice_[slot / 64] |= once_[slot / 64] & bit;
            once_[slot / 64] |= bit;
        });
    }

    bool maybe(uint64_t hash) const { return (twice_[(hash & mask_) / 64] >> hash % 64 & 1) != 0; }

  private:
    static constexpr const char* what = "the numbers of equal rows";
    static constexpr uint64_t slots_per_hash = 8;

    const uint64_t mask_;
    Buffer<uint64_t> once_, twice_;
};

} // namespace

void check_shape(const Table& table) {
    if (table.rows > max_rows)
        throw Error(ErrorCode::limit_exceeded,
                    format("table \"%s\" has %" PRIu64 " rows, a join reads at most %" PRIu64 " of one table",
                           table.name.c_str(), table.rows, max_rows));
    for (const KeyColumn& key : table.keys) check_length(table, key.values.size());
    for (const DataColumn& column : table.columns)
        check_length(table, column.kind == DataColumn::Kind::number ? column.numbers.size() : column.codes.size());
    if (table.content) check_length(table, table.content->size());
}

const Buffer<Key>& key_column(const Table& table, int attribute) {
    for (const KeyColumn& key : table.keys)
        if (key.attribute == attribute) return key.values;
    throw Error(ErrorCode::internal, format("table \"%s\" lacks a join attribute", table.name.c_str()));
}

void tell_equal_rows_apart(Buffer<uint64_t>& content, RunContext& context) {
    constexpr const char* what = "the numbers of equal rows";
    const Repeated repeated(content, context); // most tables have few equal rows
    HashIndex numbers(content.budget(), what);
    Buffer<uint64_t> distinct(content.budget(), what);
    Buffer<RowId> rows(content.budget(), what); // by distinct content
    context.for_each(content.size(), 1, [&](uint64_t row) {
        if (!repeated.maybe(content[row])) return;
        const auto next = static_cast<uint32_t>(distinct.size());
        const uint32_t number = numbers.find_or_add(HashIndex::hash(content[row]), next,
                                                    [&](uint32_t other) { return distinct[other] == content[row]; });
        if (number == next) {
            distinct.push_back(content[row]);
            rows.push_back(1);
        } else {
            content[row] = random_bits(content[row], stream_of_equal_rows, rows[number]++);
        }
    });
}

void append_null_row(Table& table) {
    if (table.rows >= max_rows)
        throw Error(ErrorCode::limit_exceeded, format("table \"%s\" has %" PRIu64
                                                      " rows, a left join reads at most %" PRIu64 " of its right table",
                                                      table.name.c_str(), table.rows, max_rows - 1));
    for (KeyColumn& key : table.keys) append(key.values, null_key);
    for (DataColumn& column : table.columns) {
        if (column.kind == DataColumn::Kind::number)
            append(column.numbers, column.null_row_number);
        else
            append(column.codes, column.null_row_code);
    }
    if (table.content) append(*table.content, null_row_content);
    table.rows++;
}

uint64_t count_kept(const RowMask& mask) {
    return std::accumulate(mask.begin(), mask.end(), uint64_t{0});
}

void keep_rows(Table& table, const RowMask& mask, uint64_t kept, RunContext& context) {
    for (KeyColumn& key : table.keys) keep_rows(key.values, mask, kept, context);
    for (DataColumn& column : table.columns) {
        if (column.kind == DataColumn::Kind::number)
            keep_rows(column.numbers, mask, kept, context);
        else
            keep_rows(column.codes, mask, kept, context);
    }
    if (table.content) keep_rows(*table.content, mask, kept, context);
    table.rows = kept;
}

} // namespace btml::relational
