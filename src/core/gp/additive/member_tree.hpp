// The trie of the rows' strings under one bit order, for passes over all rows with sixteen columns at once.
//
// The covariance of a member is a sum over nodes: below its parent, a node adds c_node − c_parent (its edge) to the
// covariance of every two rows below it. So a product with K_m is a sum of the rows below each node on the way up, and
// of the edges' shares on the way down; and (s·K_m + Λ)⁻¹ is as much work, once it is known how far the edges above
// tell a node's rows (a factor per node). Nodes are in depth-first order, parents first: the left child of an inner
// node is the next node.
#pragma once

#include "core/base/levels.hpp"
#include "core/gp/additive/float_columns.hpp"
#include "core/gp/tree/row_sorter.hpp"

namespace btml::gp {

class MemberTree {
  public:
    // Takes rows in the order of strings of so many levels, at least 1 and less than 2^31.
    MemberTree(const SortedRows& sorted, size_t levels, RunContext& context);

    size_t rows() const noexcept { return rows_.size(); }
    size_t nodes() const noexcept { return level_.size(); }
    size_t levels() const noexcept { return levels_; }
    size_t level(size_t node) const noexcept { return level_[node]; }

    bool is_leaf(size_t node) const noexcept { return (next_[node] & leaf) != 0; }
    size_t right(size_t node) const noexcept { return next_[node]; }
    // Returns how many rows have the string of a leaf. Leaves and rows are in the order of the strings.
    size_t rows_of(size_t node) const noexcept { return next_[node] & ~leaf; }
    const uint32_t* sorted_rows() const noexcept { return rows_.data(); }

  private:
    static constexpr uint32_t leaf = uint32_t{1} << 31;
    size_t levels_;
    Buffer<uint32_t> rows_;
    Buffer<uint32_t> next_;  // of an inner node: its right child; of a leaf: its number of rows
    Buffer<uint16_t> level_; // that the strings below share
};

// Holds what the passes need to know of a kernel: c_0 … c_q.
using Covariances = std::vector<double>;

// All below take arrays of one entry per row of the data, by row number, or per node.

// y += K_m·x. `sums` is scratch space, per node.
BTML_DISPATCH(void, add_product,
              (const MemberTree& tree, const Covariances& c, const Columns* x, Columns* sums, Columns* y),
              (tree, c, x, sums, y));
BTML_DISPATCH(void, add_product,
              (const MemberTree& tree, const Covariances& c, const DoubleColumns* x, DoubleColumns* sums,
               DoubleColumns* y),
              (tree, c, x, sums, y));

// For (scale·K_m + Λ)⁻¹ with the rows' precisions, 1 over the diagonal of Λ: 1/(1 + v·a) per node, where v is its edge
// and a what the rows below know of it.
BTML_DISPATCH(void, solve_factors,
              (const MemberTree& tree, const Covariances& c, double scale, const float* precision, float* factors),
              (tree, c, scale, precision, factors));
// y += share·(scale·K_m + Λ)⁻¹·x.
BTML_DISPATCH(void, add_solution,
              (const MemberTree& tree, const Covariances& c, double scale, const float* precision, const float* factors,
               float share, const Columns* x, Columns* sums, Columns* y),
              (tree, c, scale, precision, factors, share, x, sums, y));

// Σ over the nodes of each level of the squared sums below them, by level from 1 to q: of column 0, and of all others
// together. An edge over several levels is a node of each.
struct LevelSquares {
    std::vector<double> first, others;
};
BTML_DISPATCH(LevelSquares, level_squares, (const MemberTree& tree, const Columns* x, Columns* sums), (tree, x, sums));

// Random signs by node: columns of independent samples of the member's gp are sums of √edge·sign over the nodes
// above a row. Only the samples' second moments matter for what they are used for, and signs have the least variance.
struct Signs {
    uint64_t seed, stream;
};
// y += the samples.
BTML_DISPATCH(void, add_samples,
              (const MemberTree& tree, const Covariances& c, const Signs& signs, Columns* values, Columns* y),
              (tree, c, signs, values, y));
// values[node] = what the node adds up to from the root: the product with x in the columns before `samples`, and in the
// others the sample less its product with x.
BTML_DISPATCH(void, node_values,
              (const MemberTree& tree, const Covariances& c, const Signs& signs, size_t samples, const Columns* x,
               Columns* values),
              (tree, c, signs, samples, x, values));

} // namespace btml::gp
