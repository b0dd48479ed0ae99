// Every pair of a query and a key, in tiles.
#pragma once

#include "core/kernel/key_set.hpp"
#include "core/kernel/query_group.hpp"

namespace btml::kernel {

// Queries as they came, brought into the frame piece by piece.
class FramedQueries {
  public:
    FramedQueries(const Frame& frame, MemoryBudget& budget)
        : frame_(frame), rows_(budget, "queries", QueryGroup::max_queries * frame.centre.size()) {}

    // Those of some rows, up to QueryGroup::max_queries of them; valid until the next call.
    std::span<const double* const> load(const Points& queries, std::span<const uint32_t> rows);

  private:
    const Frame& frame_;
    Buffer<double> rows_;
    const double* pointers_[QueryGroup::max_queries];
};

// sums[row·columns + c] = Σ_j value_jc·k, in the values' own units; all queries go through one part of the keys after
// another, which stays in the processor's cache.
Buffer<double> exact_sums(const KeySet& keys, const Points& queries, ThreadTeam& team, RunContext& context);

} // namespace btml::kernel
