// Keys in a tree of halves, each cut across the direction in which its keys vary most: the leaves are the blocks of the
// tiles, all full but the last.
#pragma once

#include "core/base/threads.hpp"
#include "core/kernel/points.hpp"

#include <vector>

namespace btml::kernel {

class KeyTree {
  public:
    // At least one key.
    KeyTree(const Points& keys, ThreadTeam& team, RunContext& context);

    size_t leaves() const noexcept { return (order_.size() + leaf_keys - 1) / leaf_keys; }
    // The keys, leaf by leaf; the last may have fewer than the others.
    std::span<const uint32_t> keys(size_t leaf) const noexcept {
        const size_t first = leaf * leaf_keys;
        return order_.span().subspan(first, std::min(leaf_keys, order_.size() - first));
    }
    // Where a point equal to a key leads to the key's leaf.
    size_t leaf_of(const double* point) const noexcept;

    static constexpr size_t leaf_keys = 256;

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
    void split(size_t node, const Points& keys, Buffer<Projected>& projected);

    size_t dimensions_;
    std::vector<Node> nodes_;
    Buffer<double> directions_; // by node
    Buffer<uint32_t> order_;
};

} // namespace btml::kernel
