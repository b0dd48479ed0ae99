// Pairs of queries and keys that are near each other although the keys' own tree has cut them apart: those that share a
// small leaf in one of some random trees. What locality-sensitive hashing finds for the paper's Algorithm 1, with
// buckets of one size whatever the density of the keys.
//
// A pair is summed exactly whatever its kernel is, and is left out of samples: that keeps the sums unbiased.
#pragma once

#include "core/kernel/query_groups.hpp"

namespace btml::kernel {

class RandomTrees {
  public:
    static constexpr size_t max_trees = 8, leaf_keys = 64;

    RandomTrees(const KeySet& keys, const Points& queries, size_t count, uint64_t seed, ThreadTeam& team,
                RunContext& context);

    size_t trees() const noexcept { return trees_.size(); }
    // Returns the leaf of the keys' own tree.
    uint32_t leaf(uint32_t key) const noexcept { return leaves_[key]; }
    uint32_t of_key(size_t tree, uint32_t key) const noexcept { return of_keys_[tree * keys_.rows() + key]; }
    uint32_t of_query(size_t tree, uint32_t query) const noexcept {
        return of_queries_[tree * queries_.rows() + query];
    }
    std::span<const uint32_t> keys(size_t tree, size_t leaf) const noexcept { return trees_[tree].keys(leaf); }
    // Tells whether a tree before this one has them in one leaf.
    bool met_before(size_t tree, uint32_t query, uint32_t key) const noexcept {
        for (size_t t = 0; t < tree; t++)
            if (of_query(t, query) == of_key(t, key)) return true;
        return false;
    }

    // sums[query·columns + c] += Σ value·k over the pairs whose key's leaf (of the keys' own tree) is not near, in
    // units of the values' scales. is_near(query, leaf) is called on any thread.
    void add_sums(const std::function<bool(uint32_t query, uint32_t leaf)>& is_near, size_t columns, double* sums,
                  ThreadTeam& team, RunContext& context) const;

  private:
    const KeySet& keys_;
    const Points& queries_;
    std::vector<KeyTree> trees_;
    Buffer<uint32_t> of_keys_, of_queries_; // leaves, [tree][key] and [tree][query]
    Buffer<uint32_t> leaves_;               // in the keys' own tree, by key
};

} // namespace btml::kernel
