// The rows of every node of a tree under construction: ranges of an index array that is partitioned at each split.
#pragma once

#include "core/base/buffer.hpp"
#include "core/boosting/pieces.hpp"
#include "core/boosting/training_rows.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace btml::boosting {

struct RowSet {
    size_t begin = 0, end = 0;
    uint8_t side = 0;      // which of the two arrays holds it
    bool identity = false; // the rows begin … end − 1 themselves; the arrays hold nothing

    size_t size() const { return end - begin; }
    bool empty() const { return begin == end; }
};

// A node's rows: the ones its tree learns from, training rows left out of the tree's sample, rows held out.
enum Part { in_bag, out_of_bag, held_out, part_count };
using NodeRows = std::array<RowSet, part_count>;

class RowIndex {
  public:
    RowIndex(const TrainingRows& training, ThreadTeam& team, RunContext& context);

    // All rows, as the root of tree number `tree`: a row is in the bag when the random number of its target row is
    // below row_fraction.
    NodeRows root(double row_fraction, uint64_t seed, uint64_t tree);

    // The set's rows; nullptr for an identity.
    const uint32_t* rows(const RowSet& set) const {
        return set.identity ? nullptr : sides_[set.side].data() + set.begin;
    }

    // Splits a set in two: rows for which go_left(row), and the others; go_left.address(row) is what it reads. The
    // order of rows does not matter to any sum; a piece's left rows keep their order and its right rows are reversed,
    // so memory is still read in one direction.
    template <class GoLeft>
    std::pair<RowSet, RowSet> partition(const RowSet& set, const GoLeft& go_left);

  private:
    template <bool Identity, class GoLeft>
    static void spread(const uint32_t* from, size_t begin, size_t end, uint32_t* to, size_t& left, size_t& right,
                       const GoLeft& go_left);
    template <class GoLeft>
    std::pair<RowSet, RowSet> partition_alone(const RowSet& set, const GoLeft& go_left);
    template <class GoLeft>
    std::pair<RowSet, RowSet> partition_shared(const RowSet& set, const GoLeft& go_left);

    const TrainingRows& training_;
    ThreadTeam& team_;
    RunContext& context_;
    std::array<Buffer<uint32_t>, 2> sides_;
};

template <bool Identity, class GoLeft>
void RowIndex::spread(const uint32_t* from, size_t begin, size_t end, uint32_t* to, size_t& left, size_t& right,
                      const GoLeft& go_left) {
    static constexpr size_t ahead = 32; // rows to ask the memory for in advance
    size_t l = left, r = right;
    for (size_t i = begin; i < end; i++) {
        const uint32_t row = Identity ? static_cast<uint32_t>(i) : from[i];
        if (!Identity) __builtin_prefetch(go_left.address(from[std::min(i + ahead, end - 1)]));
        const size_t goes_left = go_left(row);
        // Both ends are free until the last row, so writing to both costs no branch and harms nothing.
        to[l] = row;
        to[r] = row;
        l += goes_left;
        r -= 1 - goes_left;
    }
    left = l;
    right = r;
}

template <class GoLeft>
std::pair<RowSet, RowSet> RowIndex::partition(const RowSet& set, const GoLeft& go_left) {
    if (set.empty()) return {set, set};
    return team_.size() == 1 || set.size() < least_shared_rows ? partition_alone(set, go_left)
                                                               : partition_shared(set, go_left);
}

template <class GoLeft>
std::pair<RowSet, RowSet> RowIndex::partition_alone(const RowSet& set, const GoLeft& go_left) {
    const uint32_t* from = sides_[set.side].data();
    uint32_t* to = sides_[1 - set.side].data();
    size_t left = set.begin, right = set.end - 1;
    for (size_t begin = set.begin; begin < set.end; begin += piece_rows) {
        const size_t end = std::min(set.end, begin + piece_rows);
        if (set.identity)
            spread<true>(from, begin, end, to, left, right, go_left);
        else
            spread<false>(from, begin, end, to, left, right, go_left);
        context_.poll();
    }
    const auto side = static_cast<uint8_t>(1 - set.side);
    return {RowSet{set.begin, left, side}, RowSet{left, set.end, side}};
}

template <class GoLeft>
std::pair<RowSet, RowSet> RowIndex::partition_shared(const RowSet& set, const GoLeft& go_left) {
    const size_t pieces = count_pieces(team_, set.size()), size = (set.size() + pieces - 1) / pieces;
    std::vector<size_t> lefts(pieces + 1, 0); // left rows before each piece
    uint32_t* home = sides_[set.side].data();
    uint32_t* away = sides_[1 - set.side].data();
    const auto bounds = [&](size_t piece) {
        const size_t begin = std::min(set.end, set.begin + piece * size);
        return std::pair(begin, std::min(set.end, begin + size));
    };
    team_.for_each(pieces, [&](size_t piece, int) {
        const auto [begin, end] = bounds(piece);
        if (begin == end) return;
        size_t left = begin, right = end - 1;
        if (set.identity)
            spread<true>(home, begin, end, away, left, right, go_left);
        else
            spread<false>(home, begin, end, away, left, right, go_left);
        lefts[piece + 1] = left - begin;
    });
    for (size_t piece = 0; piece < pieces; piece++) lefts[piece + 1] += lefts[piece];
    const size_t middle = set.begin + lefts[pieces];
    team_.for_each(pieces, [&](size_t piece, int) {
        const auto [begin, end] = bounds(piece);
        const size_t left = lefts[piece + 1] - lefts[piece], rights_before = begin - set.begin - lefts[piece];
        std::memcpy(home + set.begin + lefts[piece], away + begin, left * sizeof(uint32_t));
        std::memcpy(home + middle + rights_before, away + begin + left, (end - begin - left) * sizeof(uint32_t));
    });
    return {RowSet{set.begin, middle, set.side}, RowSet{middle, set.end, set.side}};
}

} // namespace btml::boosting
