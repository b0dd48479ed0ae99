// Rows in pieces small enough to poll between, spread over a team.
#pragma once

#include "core/base/threads.hpp"

#include <algorithm>
#include <cstddef>

namespace btml {

inline constexpr size_t piece_rows = 65536;
inline constexpr size_t min_piece_rows = 4096;   // of rows that are shared
inline constexpr size_t min_shared_rows = 16384; // fewer rows than this are not worth waking a thread for

inline size_t count_pieces(const ThreadTeam& team, size_t rows) {
    const size_t threads = team.size();
    if (rows < min_shared_rows || threads == 1) return (rows + piece_rows - 1) / piece_rows;
    // More than one for each thread, since some start late.
    const size_t size = std::clamp(rows / (threads * 4), min_piece_rows, piece_rows);
    const size_t pieces = (rows + size - 1) / size;
    return (pieces + threads - 1) / threads * threads;
}

// body(begin, end, worker) over consecutive pieces that cover 0 ≤ i < rows.
template <class Body>
void for_pieces(ThreadTeam& team, size_t rows, Body&& body) {
    const size_t pieces = count_pieces(team, rows);
    if (pieces == 0) return;
    const size_t size = (rows + pieces - 1) / pieces;
    team.for_each(pieces, [&](size_t piece, int worker) {
        const size_t begin = std::min(rows, piece * size), end = std::min(rows, begin + size);
        if (begin < end) body(begin, end, worker);
    });
}

// Calls body(i, worker) for 0 ≤ i < rows, the rows of a piece in their order.
template <class Body>
void for_each_row(ThreadTeam& team, size_t rows, const Body& body) {
    for_pieces(team, rows, [&](size_t begin, size_t end, int worker) {
        for (size_t i = begin; i < end; i++) body(i, worker);
    });
}

} // namespace btml
