// The rows of every node of a tree under construction. Rows are cut into blocks, and each block keeps its rows' numbers
// in 16 bits, those of a node together: a node's rows are a segment of some blocks, and a split reorders each of its
// segments in place.
#pragma once

#include "core/base/buffer.hpp"
#include "core/base/pieces.hpp"
#include "core/boosting/rows/training_rows.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace btml::boosting {

// A node's rows in one block: the numbers from `place` up to where the set's next segment begins.
struct Segment {
    uint32_t place;
    uint32_t before; // rows in the set's segments before this one
};

struct RowSet {
    std::vector<Segment> segments; // ascending
    size_t rows = 0;
    bool identity = false; // all rows, in their order: the numbers are not written yet

    size_t size() const { return rows; }
    bool empty() const { return rows == 0; }
    size_t rows_of(size_t segment) const {
        return (segment + 1 < segments.size() ? segments[segment + 1].before : rows) - segments[segment].before;
    }
};

// A node's rows: the ones its tree learns from, training rows left out of the tree's sample, rows held out.
enum Part { in_bag, out_of_bag, held_out, part_count };
using NodeRows = std::array<RowSet, part_count>;

// Some successive rows of a set: list[0 … count − 1], or first, first + 1, … where list is null.
struct RowList {
    const uint32_t* list;
    size_t first, count;
    size_t position; // rows of the set before these

    uint32_t operator[](size_t i) const { return list ? list[i] : static_cast<uint32_t>(first + i); }
};

// Asks the memory for what a later row of the list has: the places of listed rows are not foreseen by the processor.
template <class T>
[[gnu::always_inline]] inline void prefetch_to_write(const T* by_row, const RowList& rows, size_t i) {
    constexpr size_t ahead = 32;
    __builtin_prefetch(by_row + rows[std::min(i + ahead, rows.count - 1)], 1);
}

// Returns what a list's rows have: in `room` where it has to be gathered, else where it lies.
template <class T>
const T* rows_of(const T* by_row, const RowList& rows, T* room) {
    if (!rows.list) return by_row + rows.first;
    constexpr size_t ahead = 32;
    const uint32_t* const list = rows.list;
    const size_t count = rows.count;
    size_t i = 0;
    for (; i + ahead < count; i++) {
        __builtin_prefetch(by_row + list[i + ahead]);
        room[i] = by_row[list[i]];
    }
    for (; i < count; i++) room[i] = by_row[list[i]];
    return room;
}

class RowIndex {
  public:
    RowIndex(const TrainingRows& training, ThreadTeam& team, RunContext& context);

    // All rows, as the root of tree number `tree`: a row is in the bag when the random number of its target row is
    // below row_fraction, which is the same for all trees.
    NodeRows root(double row_fraction, uint64_t seed, uint64_t tree);

    // body(RowList) for the rows number begin … end − 1 of a set, at most list_rows at a time.
    static constexpr size_t list_rows = 1024;
    template <class Body>
    void for_each_list(const RowSet& set, size_t begin, size_t end, const Body& body) const;
    // body(RowList, worker) for all rows of a set, on all threads.
    template <class Body>
    void for_each_list(const RowSet& set, const Body& body) const;

    // Rows are numbered within blocks of neighbouring ones, and a set has one segment in a block at most.
    size_t blocks() const { return (training_.rows() + block_rows_ - 1) / block_rows_; }
    size_t block_of(const Segment& segment) const { return segment.place / block_rows_; }

    // Splits a set in two: rows for which go_left(row) is 1, not 0, and the others; address(row) is what it reads, or
    // address is null where it reads a column of bytes, which is in the cache already. The rows of a block keep their
    // order, so that memory is read in one direction.
    template <class GoLeft, class Address>
    std::pair<RowSet, RowSet> partition(const RowSet& set, const GoLeft& go_left, const Address& address);

    // Bytes that the rows of a tree with so many leaves take at most.
    static uint64_t bytes(uint64_t rows, uint64_t leaves, int threads);

  private:
    using Number = uint16_t; // of a row in its block
    using Counts = std::array<size_t, part_count + 1>;

    static size_t rows_of_block(uint64_t rows, int threads);
    uint32_t first_row(const Segment& segment) const { return segment.place & ~static_cast<uint32_t>(block_rows_ - 1); }
    template <bool Identity, class GoLeft, class Address>
    size_t partition(const Segment& segment, size_t count, Number* scratch, GoLeft go_left, Address address);

    const TrainingRows& training_;
    ThreadTeam& team_;
    const size_t block_rows_;    // a power of two; no result depends on it
    Buffer<Number> numbers_;     // in the place of each row, one of its block
    Buffer<Number> scratch_;     // by worker: a block
    std::vector<Counts> counts_; // by block: the rows of each part of a root, and of none
};

template <class Body>
void RowIndex::for_each_list(const RowSet& set, size_t begin, size_t end, const Body& body) const {
    if (set.identity) {
        for (; begin < end; begin += list_rows) body(RowList{nullptr, begin, std::min(list_rows, end - begin), begin});
        return;
    }
    const auto after = std::upper_bound(set.segments.begin(), set.segments.end(), begin,
                                        [](size_t row, const Segment& segment) { return row < segment.before; });
    auto segment = (after - set.segments.begin()) - 1;
    uint32_t rows[list_rows];
    while (begin < end) {
        const size_t count = std::min(list_rows, end - begin);
        for (size_t filled = 0; filled < count;) {
            const Segment& from = set.segments[segment];
            const size_t skipped = begin + filled - from.before, left = set.rows_of(segment) - skipped;
            const size_t taken = std::min(left, count - filled);
            const Number* const numbers = numbers_.data() + from.place + skipped;
            const uint32_t first = first_row(from);
            for (size_t i = 0; i < taken; i++) rows[filled + i] = first + numbers[i];
            filled += taken;
            segment += taken == left;
        }
        body(RowList{rows, 0, count, begin});
        begin += count;
    }
}

template <class Body>
void RowIndex::for_each_list(const RowSet& set, const Body& body) const {
    for_pieces(team_, set.size(), [&](size_t begin, size_t end, int worker) {
        for_each_list(set, begin, end, [&](const RowList& rows) { body(rows, worker); });
    });
}

// Puts the left rows before the others, and gives their number.
template <bool Identity, class GoLeft, class Address>
size_t RowIndex::partition(const Segment& segment, size_t count, Number* scratch, GoLeft go_left, Address address) {
    static constexpr size_t ahead = 64; // rows to ask the memory for in advance
    Number* const numbers = numbers_.data() + segment.place;
    const uint32_t first = first_row(segment);
    size_t left = 0, i = 0;
    // The loops are unrolled, as their speed depended on where the linker put them.
    const auto put = [&] {
        const Number number = Identity ? static_cast<Number>(i) : numbers[i];
        const size_t goes_left = go_left(first + number);
        // Both places are free, so writing to both costs no branch and harms nothing.
        numbers[left] = number;
        scratch[i++ - left] = number;
        left += goes_left;
    };
    if constexpr (!Identity && !std::is_same_v<Address, std::nullptr_t>)
#pragma GCC unroll 4
        while (i + ahead < count) {
            __builtin_prefetch(address(first + numbers[i + ahead]));
            put();
        }
#pragma GCC unroll 4
    while (i < count) put();
    std::memcpy(numbers + left, scratch, (count - left) * sizeof(Number));
    return left;
}

template <class GoLeft, class Address>
std::pair<RowSet, RowSet> RowIndex::partition(const RowSet& set, const GoLeft& go_left, const Address& address) {
    std::vector<uint32_t> lefts(set.segments.size());
    for_pieces(team_, set.size(), [&](size_t begin, size_t end, int worker) {
        Number* const scratch = scratch_.data() + worker * block_rows_;
        const auto first = std::lower_bound(set.segments.begin(), set.segments.end(), begin,
                                            [](const Segment& segment, size_t row) { return segment.before < row; });
        for (size_t s = first - set.segments.begin(); s < set.segments.size() && set.segments[s].before < end; s++)
            lefts[s] = static_cast<uint32_t>(
                set.identity ? partition<true>(set.segments[s], set.rows_of(s), scratch, go_left, address)
                             : partition<false>(set.segments[s], set.rows_of(s), scratch, go_left, address));
    });
    std::pair<RowSet, RowSet> sides;
    const auto add = [](RowSet& side, uint32_t place, size_t rows) {
        if (rows > 0) side.segments.push_back({place, static_cast<uint32_t>(side.rows)});
        side.rows += rows;
    };
    for (size_t s = 0; s < lefts.size(); s++) {
        add(sides.first, set.segments[s].place, lefts[s]);
        add(sides.second, set.segments[s].place + lefts[s], set.rows_of(s) - lefts[s]);
    }
    sides.first.segments.shrink_to_fit();
    sides.second.segments.shrink_to_fit();
    return sides;
}

} // namespace btml::boosting
