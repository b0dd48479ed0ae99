// Takes up to 256 queries through blocks of keys together: the workspace of one thread.
#pragma once

#include "core/kernel/key_blocks.hpp"

namespace btml::kernel {

class QueryGroup {
  public:
    static constexpr size_t max_queries = 256;

    // Is for queries of the frame's dimensions, with so many columns of sums each.
    QueryGroup(const Frame& frame, size_t columns, MemoryBudget& budget);
    // Makes one for each thread.
    static std::vector<QueryGroup> of_team(const ThreadTeam& team, const Frame& frame, size_t columns,
                                           MemoryBudget& budget);

    // Takes some rows of queries as they came, into the frame; sums start at 0.
    void load(const Points& queries, std::span<const uint32_t> rows);
    size_t queries() const noexcept { return queries_; }
    size_t tiles() const noexcept { return (queries_ + tile_queries - 1) / tile_queries; }

    // The kernel of a tile's queries and a block's keys, [query][key], or of the first `count` of those, rounded up to
    // pairs of vectors; valid until the next call.
    const float* evaluate(size_t tile, const KeyBlocks& keys, size_t block, size_t count = block_keys);
    const float* values() const noexcept { return values_; }
    // Square what was evaluated last, or multiply it by a mask by key.
    void square() { tiles::square(values_, vectors_); }
    void multiply(const float* mask) { tiles::multiply(values_, mask, vectors_); }
    // Adds Σ of what was evaluated last times each column of the block's to columns first, first + 1, …
    void add(size_t tile, size_t block, const BlockValues& values, size_t first = 0);

    // Does all that over blocks first to last − 1, without squares and masks.
    void add_blocks(const KeyBlocks& keys, const BlockValues& values, size_t first, size_t last);

    double sum(size_t query, size_t column) const noexcept; // in units of the values' scale
    void clear_sums() noexcept;

    static uint64_t bytes(size_t dimensions, size_t columns);

    static constexpr double farthest = 1e16; // coordinate, as far as any: squares of float32 stay finite

  private:
    const Frame* frame_;
    size_t dimensions_, columns_, queries_ = 0, vectors_ = 0;
    Buffer<double> coordinates_; // [tile][dimension][query]
    std::vector<double> framed_; // one query
    Buffer<float> high_, low_;   // of one tile, relative to a block's centre
    Buffer<double> sums_;        // [tile][column][query][part of the keys side by side]
    alignas(64) float norms_[tile_queries];
    alignas(64) float values_[tile_values];
};

} // namespace btml::kernel
