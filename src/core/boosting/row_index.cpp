#include "core/boosting/row_index.hpp"

#include "core/base/rng.hpp"

namespace btml::boosting {

RowIndex::RowIndex(const TrainingRows& training, ThreadTeam& team, RunContext& context)
    : training_(training),
      team_(team),
      context_(context),
      sides_{Buffer<uint32_t>(context.memory(), "rows of nodes", training.rows()),
             Buffer<uint32_t>(context.memory(), "rows of nodes", training.rows())} {}

NodeRows RowIndex::root(double row_fraction, uint64_t seed, uint64_t tree) {
    const size_t rows = training_.rows();
    if (training_.uniform() && row_fraction >= 1) return {RowSet{0, rows, 0, true}, RowSet{}, RowSet{}};
    const auto part_of = [&](uint32_t row) -> int {
        switch (training_.role(row)) {
        case Role::holdout:
            return held_out;
        case Role::ignored:
            return part_count;
        case Role::train:
            break;
        }
        return row_fraction >= 1 || random_unit(seed, tree, training_.target_row(row)) < row_fraction ? in_bag
                                                                                                      : out_of_bag;
    };
    using Counts = std::array<size_t, part_count + 1>;
    const size_t pieces = count_pieces(team_, rows), size = (rows + pieces - 1) / pieces;
    std::vector<Counts> counts(pieces, Counts{});
    team_.for_each(pieces, [&](size_t piece, int) {
        for (size_t i = piece * size; i < std::min(rows, (piece + 1) * size); i++)
            counts[piece][static_cast<size_t>(part_of(static_cast<uint32_t>(i)))]++;
    });
    NodeRows root;
    size_t place = 0;
    for (size_t part = 0; part < part_count; part++) {
        root[part].begin = place;
        for (Counts& count : counts) place += std::exchange(count[part], place);
        root[part].end = place;
    }
    team_.for_each(pieces, [&](size_t piece, int) {
        for (size_t i = piece * size; i < std::min(rows, (piece + 1) * size); i++) {
            const auto row = static_cast<uint32_t>(i);
            const auto part = static_cast<size_t>(part_of(row));
            if (part < part_count) sides_[0][counts[piece][part]++] = row;
        }
    });
    return root;
}

} // namespace btml::boosting
