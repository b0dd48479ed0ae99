// Groups of a result brought together, where one group column only tells values apart for count(DISTINCT …).
#pragma once

#include "core/data/dictionary.hpp"
#include "core/relational/streamed/aggregate.hpp"

namespace btml::pg::planner {

class MergedGroups {
  public:
    // columns: the group columns that stay, as the result numbers them; of none there is one group, always. Error
    // memory_limit where the memory does not hold the groups.
    MergedGroups(const relational::StreamedAggregate& result, std::vector<int> columns, RunContext& context);

    uint64_t size() const { return first_.size(); }
    // One of its groups of the result; none for that of a result without any.
    uint32_t group_of(uint64_t merged) const { return first_[merged]; }
    // What a query of the root, of this kind, has in all of them. Throws CannotDecide.
    relational::StreamedCell cell(uint64_t merged, size_t query, relational::CellKind kind) const;
    // How many of its groups have rows that a query of the root counts, as one for count(DISTINCT …) counts no NULL.
    int64_t distinct(uint64_t merged, size_t count) const;

    static constexpr uint32_t none = UINT32_MAX;

  private:
    template <class Body>
    void for_each_group(uint64_t merged, const Body& body) const {
        for (uint32_t group = first_[merged]; group != none; group = next_[group]) body(group);
    }

    const relational::StreamedAggregate& result_;
    const std::vector<int> columns_;
    Buffer<uint32_t> first_; // by merged group
    Buffer<uint32_t> next_;  // by group of the result: the next one of the same merged group
};

// Returns the sum of two sums. Throws CannotDecide.
relational::StreamedCell added(relational::StreamedCell a, relational::StreamedCell b);

} // namespace btml::pg::planner
