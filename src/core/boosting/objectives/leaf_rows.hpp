// All rows of a tree, leaf by leaf.
#pragma once

#include "core/boosting/objectives/objective.hpp"

namespace btml::boosting {

// Some of a leaf's rows of one part: rows number begin … end − 1 of the set.
struct LeafPiece {
    size_t leaf;
    Part part;
    size_t begin, end;
    size_t item; // pieces of the same item are done one after the other by the same thread
};

// Shares the rows of the leaves out, so that those that lie near each other are done together, whichever their leaves
// are: then what is held of them stays in the processor's cache.
inline std::vector<LeafPiece> leaf_pieces(const std::vector<RowScores::Leaf>& leaves, const RowIndex& index) {
    constexpr size_t min_rows = 64; // of a piece, on average, or it is not worth while
    std::vector<LeafPiece> pieces;
    size_t next_item = index.blocks();
    for (size_t leaf = 0; leaf < leaves.size(); leaf++)
        for (const Part part : {in_bag, out_of_bag, held_out}) {
            const RowSet& set = (*leaves[leaf].rows)[part];
            const size_t rows = set.size(), segments = set.segments.size();
            if (rows < min_rows * segments) {
                for (size_t begin = 0; begin < rows; begin += piece_rows)
                    pieces.push_back({leaf, part, begin, std::min(begin + piece_rows, rows), next_item++});
                continue;
            }
            for (size_t s = 0; s < segments; s++) {
                const size_t begin = set.segments[s].before;
                pieces.push_back({leaf, part, begin, begin + set.rows_of(s), index.block_of(set.segments[s])});
            }
        }
    std::stable_sort(pieces.begin(), pieces.end(),
                     [](const LeafPiece& a, const LeafPiece& b) { return a.item < b.item; });
    return pieces;
}

// Calls body(leaf, part, RowList, worker) for all rows of the leaves, on all threads.
template <class Body>
void for_leaf_rows(const std::vector<RowScores::Leaf>& leaves, const RowIndex& index, ThreadTeam& team,
                   const Body& body) {
    const std::vector<LeafPiece> pieces = leaf_pieces(leaves, index);
    std::vector<size_t> items; // where each begins
    for (size_t i = 0; i < pieces.size(); i++)
        if (i == 0 || pieces[i].item != pieces[i - 1].item) items.push_back(i);
    items.push_back(pieces.size());
    team.for_each(items.size() - 1, [&](size_t item, int worker) {
        for (size_t i = items[item]; i < items[item + 1]; i++) {
            const LeafPiece& piece = pieces[i];
            const RowScores::Leaf& leaf = leaves[piece.leaf];
            index.for_each_list((*leaf.rows)[piece.part], piece.begin, piece.end,
                                [&](const RowList& rows) { body(leaf, piece.part, rows, worker); });
        }
    });
}

} // namespace btml::boosting
