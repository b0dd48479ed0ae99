// A kd-tree holds the points of a score. Each node is split on the coordinate of largest variance, at its mean, or at
// its median where the mean would leave next to nothing on one side. Points are reordered: those of a node are
// neighbours in memory. The same rows give the same tree, whatever the number of threads.
#pragma once

#include "core/base/threads.hpp"
#include "core/monte_carlo/score_rows.hpp"

namespace btml::monte_carlo {

class VarianceTree {
  public:
    static constexpr size_t leaf_rows = 32; // are in a leaf at most

    struct Node {
        uint32_t begin, end; // bound its rows
        uint32_t children;   // is the first of two neighbours; a leaf has 0
        float spread;        // is the standard deviation of its targets over that of all, at most 1; 0 without targets

        size_t size() const { return end - begin; }
    };
    // Holds squared distances of a point to the nearest and farthest place of a node's box.
    struct Distances {
        double least, most;
    };

    // Takes at most 2^32 − 2 rows, with targets of mean 0.
    VarianceTree(ScoreRows rows, ThreadTeam& team, RunContext& context);

    const ScoreRows& rows() const { return rows_; }
    size_t size() const { return rows_.size(); }
    const double* row(size_t position) const { return rows_.row(position); }
    double target(size_t position) const { return rows_.row(position)[rows_.dimensions]; }

    // Node 0 is the root.
    const Node& node(uint32_t number) const { return nodes_[number]; }
    size_t nodes() const { return nodes_.size(); }
    Distances distances(uint32_t node, const double* point) const;
    // Finds the other row nearest to that at `position`. There are two rows at least.
    size_t nearest(size_t position) const;
    // Finds the `count` other rows nearest to it, or all others where they are fewer; in no order.
    std::vector<uint32_t> nearest(size_t position, size_t count) const;

  private:
    class Builder;

    ScoreRows rows_;
    Buffer<Node> nodes_;
    Buffer<double> boxes_; // has the least coordinates of each node, then the greatest
};

} // namespace btml::monte_carlo
