// All rows of a tree, leaf by leaf.
#pragma once

#include "core/boosting/objectives/objective.hpp"

namespace btml::boosting {

// Calls body(leaf, part, RowList, worker) for all rows of the leaves, on all threads.
template <class Body>
void for_leaf_rows(const std::vector<RowScores::Leaf>& leaves, const RowIndex& index, ThreadTeam& team,
                   const Body& body) {
    struct Piece {
        size_t leaf;
        Part part;
        size_t begin, end; // within the leaf's rows of that part
    };
    std::vector<Piece> pieces;
    for (size_t leaf = 0; leaf < leaves.size(); leaf++)
        for (const Part part : {in_bag, out_of_bag, held_out}) {
            const size_t rows = (*leaves[leaf].rows)[part].size();
            for (size_t begin = 0; begin < rows; begin += piece_rows)
                pieces.push_back({leaf, part, begin, std::min(begin + piece_rows, rows)});
        }
    team.for_each(pieces.size(), [&](size_t i, int worker) {
        const Piece& piece = pieces[i];
        const RowScores::Leaf& leaf = leaves[piece.leaf];
        index.for_each_list((*leaf.rows)[piece.part], piece.begin, piece.end,
                            [&](const RowList& rows) { body(leaf, piece.part, rows, worker); });
    });
}

} // namespace btml::boosting
