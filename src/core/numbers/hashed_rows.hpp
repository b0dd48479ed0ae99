// Orders rows by a hash of their content: an order at random that rows have wherever they lie.
#pragma once

#include "core/base/buffer.hpp"
#include "core/numbers/rng.hpp"

#include <bit>

namespace btml {

struct HashedRow {
    uint64_t hash;
    uint32_t row;

    // Rows of one hash come in the order of their numbers.
    friend bool operator<(const HashedRow& a, const HashedRow& b) {
        return a.hash != b.hash ? a.hash < b.hash : a.row < b.row;
    }
};

// Returns the hash of a row of numbers, which may go on from another; rows of equal numbers have the same, −0 being 0.
inline uint64_t hash_of_numbers(std::span<const double> numbers, uint64_t hash = 0) {
    for (const double number : numbers) hash = mix64(hash ^ std::bit_cast<uint64_t>(number + 0.0));
    return hash;
}

inline void sort_by_hash(Buffer<HashedRow>& rows, RunContext& context) {
    std::sort(rows.begin(), rows.end(), [&](const HashedRow& a, const HashedRow& b) {
        context.worked(1);
        return a < b;
    });
}

// Returns so many rows in the order of their hashes; hash(row) tells them, as so many units of work.
template <class Hash>
Buffer<HashedRow> rows_by_hash(size_t count, const char* what, uint64_t units, RunContext& context, const Hash& hash) {
    Buffer<HashedRow> rows(context.memory(), what, count);
    context.for_each(count, units, [&](size_t row) { rows[row] = {hash(row), static_cast<uint32_t>(row)}; });
    sort_by_hash(rows, context);
    return rows;
}

} // namespace btml
