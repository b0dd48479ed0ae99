// A kd-tree holds the points of a score. Each node is split on the coordinate of largest variance, at its mean, or at
// its median where the mean would leave next to nothing on one side. Points are reordered: those of a node are
// neighbours in memory. The same rows give the same tree, whatever the number of threads.
#pragma once

#include "core/base/threads.hpp"
#include "core/monte_carlo/score_rows.hpp"
#include "core/pairwise/kernels/metrics.hpp"

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
    // Holds the least and the greatest sum over the coordinates, in a metric, for a point and a place of a node's box.
    struct Bounds {
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
    template <class Metric>
    Bounds bounds(uint32_t node, const double* point) const {
        const size_t d = rows_.dimensions;
        const double* const least = boxes_.data() + size_t{node} * 2 * d;
        const double* const most = least + d;
        Bounds result{0, 0};
        for (size_t k = 0; k < d; k++) {
            const double above = point[k] - least[k], below = most[k] - point[k];
            const double outside = std::max(0.0, std::max(-above, -below)), far = std::max(above, below);
            result.least = Metric::template add<pairwise::DoubleArithmetic>(result.least, outside);
            result.most = Metric::template add<pairwise::DoubleArithmetic>(result.most, far);
        }
        return result;
    }
    // Finds the other row nearest to that at `position`. There are two rows at least.
    template <class Metric>
    size_t nearest(size_t position) const {
        return nearest<Metric>(position, 1).front();
    }
    // Finds the `count` other rows nearest to it, or all others where they are fewer; in no order.
    template <class Metric>
    std::vector<uint32_t> nearest(size_t position, size_t count) const;

  private:
    class Builder;

    ScoreRows rows_;
    Buffer<Node> nodes_;
    Buffer<double> boxes_; // has the least coordinates of each node, then the greatest
};

} // namespace btml::monte_carlo
