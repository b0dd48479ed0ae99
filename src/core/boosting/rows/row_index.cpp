#include "core/boosting/rows/row_index.hpp"

#include "core/numbers/rng.hpp"

#include <bit>
#include <limits>

namespace btml::boosting {

// Enough blocks to keep every thread busy, as no two threads work on one.
size_t RowIndex::rows_of_block(uint64_t rows, int threads) {
    static constexpr uint64_t blocks_per_thread = 4, least = 4096;
    static constexpr uint64_t most = uint64_t{std::numeric_limits<Number>::max()} + 1;
    return std::clamp(std::bit_floor(rows / (blocks_per_thread * threads) | 1), least, most);
}

RowIndex::RowIndex(const TrainingRows& training, ThreadTeam& team, RunContext& context)
    : training_(training),
      team_(team),
      block_rows_(rows_of_block(training.rows(), team.size())),
      numbers_(context.memory(), "rows of nodes", training.rows()),
      scratch_(context.memory(), "rows of nodes", block_rows_ * team.size()) {}

// A part of a leaf has one segment in a block at most, and a segment one row at least.
uint64_t RowIndex::bytes(uint64_t rows, uint64_t leaves, int threads) {
    const uint64_t block = rows_of_block(rows, threads), blocks = rows / block + 1;
    const uint64_t segments = leaves < rows / (part_count * blocks) ? part_count * leaves * blocks : rows;
    return rows * sizeof(Number) + threads * block * sizeof(Number) + segments * sizeof(Segment);
}

NodeRows RowIndex::root(double row_fraction, uint64_t seed, uint64_t tree) {
    const size_t rows = training_.rows(), blocks = this->blocks();
    const auto end_of = [&](size_t block) { return std::min(rows, (block + 1) * block_rows_); };
    NodeRows root;
    const auto add = [&](RowSet& set, size_t place, size_t count) {
        if (count > 0) set.segments.push_back({static_cast<uint32_t>(place), static_cast<uint32_t>(set.rows)});
        set.rows += count;
    };
    if (training_.all_trained() && row_fraction >= 1) {
        root[in_bag].identity = true;
        for (size_t b = 0; b < blocks; b++) add(root[in_bag], b * block_rows_, end_of(b) - b * block_rows_);
        return root;
    }
    const auto write = [&](bool are_counted, const auto& part_of) {
        counts_.resize(blocks);
        team_.for_each(blocks, [&](size_t block, int worker) {
            Counts places{}, &counts = counts_[block];
            const size_t first = block * block_rows_, rows_of_it = end_of(block) - first;
            Number* const parts = scratch_.data() + worker * block_rows_;
            for (size_t i = 0; i < rows_of_it; i++)
                parts[i] = static_cast<Number>(part_of(static_cast<uint32_t>(first + i)));
            if (!are_counted) {
                counts = {};
                for (size_t i = 0; i < rows_of_it; i++) counts[parts[i]]++;
            }
            for (size_t part = 1; part <= part_count; part++) places[part] = places[part - 1] + counts[part - 1];
            for (size_t i = 0; i < rows_of_it; i++) numbers_[first + places[parts[i]]++] = static_cast<Number>(i);
        });
    };
    // Without branches, which the processor could not foresee.
    const auto part_of_role = [this](uint32_t row) -> size_t {
        static constexpr uint8_t parts[] = {in_bag, held_out, part_count};
        return parts[static_cast<size_t>(training_.role(row))];
    };
    if (row_fraction >= 1)
        write(!counts_.empty(), part_of_role);
    else
        write(false, [&](uint32_t row) -> size_t {
            static_assert(out_of_bag == in_bag + 1);
            const size_t part = part_of_role(row);
            const bool is_drawn = random_unit(seed, tree, training_.target_row(row)) < row_fraction;
            return part + static_cast<size_t>((part == in_bag) & !is_drawn);
        });
    for (size_t block = 0; block < blocks; block++) {
        size_t place = block * block_rows_;
        for (size_t part = 0; part < part_count; part++) {
            add(root[part], place, counts_[block][part]);
            place += counts_[block][part];
        }
    }
    return root;
}

} // namespace btml::boosting
