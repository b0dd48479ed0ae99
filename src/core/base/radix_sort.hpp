// Sorting by an integer key, least significant digit first, in pieces that a team shares and polls between.
#pragma once

#include "core/base/buffer.hpp"
#include "core/base/pieces.hpp"

#include <atomic>
#include <bit>
#include <utility>

namespace btml {

// Sorts pieces that are nearly in order, if that takes few moves; else gives up, with the items in some order. The
// order of the pieces among each other must be right but for items near their borders.
template <class Item, class Key>
bool insertion_sort(Buffer<Item>& items, ThreadTeam& team, const Key& key) {
    const size_t count = items.size(), pieces = (count + piece_rows - 1) / piece_rows;
    std::atomic<bool> sorted{true};
    const auto sort_range = [&](size_t begin, size_t end) {
        size_t moves = end - begin;
        for (size_t i = begin + 1; i < end; i++) {
            const Item item = items[i];
            size_t place = i;
            for (; place > begin && key(items[place - 1]) > key(item); place--) {
                items[place] = items[place - 1];
                if (moves-- == 0) {
                    items[place - 1] = item; // nothing is lost: what was there has moved up
                    sorted.store(false, std::memory_order_relaxed);
                    return;
                }
            }
            items[place] = item;
        }
    };
    team.for_each(pieces, [&](size_t piece, int) {
        if (sorted.load(std::memory_order_relaxed))
            sort_range(piece * piece_rows, std::min(count, (piece + 1) * piece_rows));
    });
    for (size_t border = piece_rows; border < count && sorted; border += piece_rows)
        if (key(items[border - 1]) > key(items[border])) return false;
    return sorted;
}

// Sorts `items` by key(item), a uint64_t. `spare` is scratch space of the same size; the two may be swapped. Digits in
// which no two keys differ cost nothing. Items of equal keys may end up in any order.
template <class Item, class Key>
void radix_sort(Buffer<Item>& items, Buffer<Item>& spare, ThreadTeam& team, const Key& key) {
    static constexpr int digit_bits = 11;
    static constexpr size_t digits = size_t{1} << digit_bits;
    const size_t count = items.size();
    if (count < 2) return;
    const size_t pieces = std::min<size_t>(count_pieces(team, count), 256), size = (count + pieces - 1) / pieces;
    const auto bounds = [&](size_t piece) {
        return std::pair(std::min(count, piece * size), std::min(count, (piece + 1) * size));
    };

    std::vector<uint64_t> differing(pieces, 0);
    const uint64_t first = key(items[0]);
    team.for_each(pieces, [&](size_t piece, int) {
        const auto [begin, end] = bounds(piece);
        uint64_t bits = 0;
        for (size_t i = begin; i < end; i++) bits |= key(items[i]) ^ first;
        differing[piece] = bits;
    });
    uint64_t varying = 0;
    for (const uint64_t bits : differing) varying |= bits;

    std::vector<uint32_t> places(pieces * digits);
    const auto sort_from = [&](int lowest) {
        for (int shift = lowest; shift < 64; shift += digit_bits) {
            if ((varying >> shift) % digits == 0) continue;
            const auto digit = [&](const Item& item) { return (key(item) >> shift) % digits; };
            std::fill(places.begin(), places.end(), 0);
            team.for_each(pieces, [&](size_t piece, int) {
                const auto [begin, end] = bounds(piece);
                uint32_t* counts = &places[piece * digits];
                for (size_t i = begin; i < end; i++) counts[digit(items[i])]++;
            });
            uint32_t place = 0;
            for (size_t d = 0; d < digits; d++)
                for (size_t piece = 0; piece < pieces; piece++)
                    place += std::exchange(places[piece * digits + d], place);
            team.for_each(pieces, [&](size_t piece, int) {
                const auto [begin, end] = bounds(piece);
                uint32_t* next = &places[piece * digits];
                for (size_t i = begin; i < end; i++) spare[next[digit(items[i])]++] = items[i];
            });
            std::swap(items, spare);
        }
    };
    // A few digits from the highest bit that varies tell most keys apart (about 12 bits may be the exponent of a
    // number). What is left to do then are a few exchanges of neighbours; if it is more, all digits have to be sorted
    // by.
    const int told_apart = static_cast<int>(std::bit_width(count)) + 12;
    const int high_digits = (told_apart + digit_bits - 1) / digit_bits;
    const int lowest = static_cast<int>(std::bit_width(varying)) - high_digits * digit_bits;
    if (lowest > 0) sort_from(lowest);
    if (lowest <= 0 || !insertion_sort(items, team, key)) sort_from(0);
}

} // namespace btml
