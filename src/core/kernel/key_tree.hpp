// Keys in a tree of halves, whose leaves are all full but the last.
#pragma once

#include "core/base/threads.hpp"
#include "core/kernel/kernel_points.hpp"
#include "core/pairwise/tiles.hpp"

#include <vector>

namespace btml::kernel {

using pairwise::block_keys;

class KeyTree {
  public:
    // Takes at least one key; a leaf has block_keys, but the last. Each part is cut across the direction in which its
    // keys vary most.
    KeyTree(const Points& keys, ThreadTeam& team, RunContext& context);

    size_t leaves() const noexcept { return (order_.size() + block_keys - 1) / block_keys; }
    // The keys, leaf by leaf; the last may have fewer than the others.
    std::span<const uint32_t> keys(size_t leaf) const noexcept {
        const size_t first = leaf * block_keys;
        return order_.span().subspan(first, std::min(block_keys, order_.size() - first));
    }
    std::span<const uint32_t> order() const noexcept { return order_.span(); } // all of them
    // Returns the leaf that a point leads to; one that is equal to a key leads to the key's.
    size_t leaf_of(const double* point) const noexcept;

  private:
    struct Node {
        size_t first, last; // leaves
        double threshold;
        uint32_t left = 0; // the right one is the next; 0: a leaf
    };
    struct Projected {
        double at;
        uint32_t key;
    };
    size_t split(size_t node, const Points& keys, Buffer<Projected>& projected);

    size_t dimensions_;
    std::vector<Node> nodes_;
    Buffer<double> directions_; // by node
    Buffer<uint32_t> order_;
};

} // namespace btml::kernel
