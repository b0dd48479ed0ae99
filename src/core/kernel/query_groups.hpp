// Queries in groups that lie together: those of one leaf of the keys' tree, up to QueryGroup::max_queries.
#pragma once

#include "core/kernel/key_set.hpp"
#include "core/kernel/query_group.hpp"

namespace btml::kernel {

class QueryGroups {
  public:
    // Does not depend on the order of the queries, but for equal ones.
    QueryGroups(const KeySet& keys, const Points& queries, ThreadTeam& team, RunContext& context);

    size_t groups() const noexcept { return starts_.size() - 1; }
    // All queries, group by group.
    std::span<const uint32_t> rows() const noexcept { return rows_.span(); }
    std::span<const uint32_t> rows(size_t group) const noexcept {
        return rows().subspan(starts_[group], starts_[group + 1] - starts_[group]);
    }
    size_t group_of(size_t position) const noexcept; // of rows()[position]
    // Finds for each leaf the mean square of the kernel's values between some of the group's queries and some of the
    // leaf's keys, and a distance, about the exponent of the kernel: the smaller, the more there is to expect of the
    // leaf. It is that of the mean square or, where that is smaller, the expected exponent but for a part that is the
    // group's own; −1 for the group's own leaf. Squares may be empty, where they are not asked for. The queries are
    // those of the constructor; what the workspace held is lost.
    void look(size_t group, const Points& queries, QueryGroup& workspace, std::span<double> distances,
              std::span<double> squares) const;
    // Tiles' places per query, a few of them empty.
    double padding() const noexcept;

  private:
    static Buffer<uint32_t> leaves_of(const Points& queries, const KeySet& keys, ThreadTeam& team,
                                      MemoryBudget& budget);
    void find_centre(size_t group, const Points& queries);
    Buffer<uint32_t> some_of_each_leaf(MemoryBudget& budget) const;
    double expected_exponent(size_t group, size_t leaf) const noexcept;

    const KeySet& keys_;
    Buffer<uint32_t> sample_; // of the keys, leaf by leaf
    KeyBlocks sample_blocks_;
    Buffer<uint32_t> rows_;
    std::vector<size_t> starts_;
    std::vector<uint32_t> leaves_;
    Buffer<double> centres_; // by group, in the frame
};

// Sums over every pair of a query and a key, in tiles: sums[row·columns + c] = Σ_j value_jc·k, in the values' own
// units. Groups of queries go through one part of the keys after another, which stays in the processor's cache.
Buffer<double> exact_sums(const KeySet& keys, const Points& queries, ThreadTeam& team, RunContext& context);

} // namespace btml::kernel
