// The latent function at chosen points together, given the observations of a trie.
//
// Given them, the function is still a Markov process down the trie: at a node it is an affine function of its value
// above plus an independent Gaussian. Composed over what lies between the places where the chosen points part, that
// leaves a tree of at most 2m − 1 nodes for m points.
#pragma once

#include "core/gp/tree/trie.hpp"

namespace btml::gp {

class JointPosterior {
  public:
    // Points may repeat. O(m log m) comparisons and O(m · depth) steps; nothing is kept of the trie.
    JointPosterior(const Trie& trie, std::span<const String> points, RunContext& context);

    size_t points() const noexcept { return node_of_point_.size(); }
    // Returns what it holds at most.
    static uint64_t bytes(uint64_t points) { return points * (2 * sizeof(Node) + sizeof(uint32_t)); }
    double mean(size_t point) const { return nodes_[node_of_point_[point]].mean; }
    // O(depth); of a point with itself: its variance.
    double covariance(size_t point, size_t other) const;
    // Makes one draw of all the points, in their order; it is a function of (seed, draw) and the set of points. O(m).
    void draw(uint64_t seed, uint64_t draw, std::span<double> values) const;

  private:
    // value = gain · (value of the parent) + offset + N(0, step); nodes come after their parents.
    struct Node {
        double gain, offset, step;
        double mean, variance; // by itself
        uint32_t parent;       // of node 0, where the function is 0: itself
    };
    class Builder;

    Buffer<Node> nodes_;
    Buffer<uint32_t> node_of_point_;
};

} // namespace btml::gp
