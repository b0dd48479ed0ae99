// Stable sorting by an integer key, least significant digit first, in pieces that a team shares and polls between.
#pragma once

#include "core/base/buffer.hpp"
#include "core/boosting/pieces.hpp"

#include <utility>

namespace btml::boosting {

// Sorts `items` by key(item), a uint64_t. `spare` is scratch space of the same size; the two may be swapped. Digits in
// which no two keys differ cost nothing.
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
    for (int shift = 0; shift < 64; shift += digit_bits) {
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
            for (size_t piece = 0; piece < pieces; piece++) place += std::exchange(places[piece * digits + d], place);
        team.for_each(pieces, [&](size_t piece, int) {
            const auto [begin, end] = bounds(piece);
            uint32_t* next = &places[piece * digits];
            for (size_t i = begin; i < end; i++) spare[next[digit(items[i])]++] = items[i];
        });
        std::swap(items, spare);
    }
}

} // namespace btml::boosting
