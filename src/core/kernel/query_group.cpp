#include "core/kernel/query_group.hpp"

#include <algorithm>

namespace btml::kernel {

static constexpr size_t parts = 8;

QueryGroup::QueryGroup(const Frame& frame, size_t columns, MemoryBudget& budget)
    : frame_(&frame),
      dimensions_(frame.centre.size()),
      columns_(columns),
      coordinates_(budget, "queries", max_queries * dimensions_),
      framed_(dimensions_),
      high_(budget, "queries", dimensions_ * tile_queries),
      low_(budget, "queries", dimensions_ * tile_queries),
      sums_(budget, "sums of queries", max_queries * columns * parts) {}

std::vector<QueryGroup> QueryGroup::of_team(const ThreadTeam& team, const Frame& frame, size_t columns,
                                            MemoryBudget& budget) {
    std::vector<QueryGroup> groups;
    for (int i = 0; i < team.size(); i++) groups.emplace_back(frame, columns, budget);
    return groups;
}

void QueryGroup::load(const Points& queries, std::span<const uint32_t> rows) {
    queries_ = rows.size();
    for (size_t i = 0; i < tiles() * tile_queries; i++) {
        if (i < queries_) frame_->apply(queries.row(rows[i]), framed_.data()); // the last one pads its tile
        double* const to = coordinates_.data() + i / tile_queries * tile_queries * dimensions_ + i % tile_queries;
        for (size_t k = 0; k < dimensions_; k++) to[k * tile_queries] = std::clamp(framed_[k], -farthest, farthest);
    }
    clear_sums();
}

void QueryGroup::clear_sums() noexcept {
    std::fill(sums_.begin(), sums_.begin() + tiles() * tile_queries * columns_ * parts, 0.0);
}

const float* QueryGroup::evaluate(size_t tile, const KeyBlocks& keys, size_t block, size_t count) {
    const Form form = keys.form(block);
    BlockKeys packed = keys.packed(block);
    vectors_ = packed.vectors = std::min(packed.vectors, (count + 2 * keys_per_vector - 1) / (2 * keys_per_vector) * 2);
    tiles::centre(coordinates_.data() + tile * tile_queries * dimensions_, keys.centre(block), dimensions_,
                  high_.data(), form == Form::wide ? low_.data() : nullptr, form == Form::products ? norms_ : nullptr);
    tiles::evaluate(frame_->kernel.id, form, {high_.data(), low_.data(), norms_}, packed, dimensions_, values_);
    return values_;
}

void QueryGroup::add(size_t tile, size_t block, const BlockValues& values, size_t first) {
    for (size_t column = 0; column < values.columns(); column++)
        tiles::weigh(values_, values.of(block, column), vectors_,
                     sums_.data() + (tile * columns_ + first + column) * tile_queries * parts);
}

void QueryGroup::add_blocks(const KeyBlocks& keys, const BlockValues& values, size_t first, size_t last) {
    for (size_t tile = 0; tile < tiles(); tile++)
        for (size_t block = first; block < last; block++) {
            evaluate(tile, keys, block);
            add(tile, block, values);
        }
}

double QueryGroup::sum(size_t query, size_t column) const noexcept {
    const double* const sums =
        sums_.data() + ((query / tile_queries * columns_ + column) * tile_queries + query % tile_queries) * parts;
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

uint64_t QueryGroup::bytes(size_t dimensions, size_t columns) {
    return max_queries * (dimensions + columns * parts) * sizeof(double) +
           2 * dimensions * tile_queries * sizeof(float) + sizeof(QueryGroup);
}

} // namespace btml::kernel
