// Chooses the rows that a sparse gp goes by.
#pragma once

#include "core/base/buffer.hpp"
#include "core/base/threads.hpp"
#include "core/gp/sparse/moments.hpp"

namespace btml::gp {

// Rows spread evenly over the order of all, each drawn from those next to its place; all, if there are no more.
std::vector<uint32_t> spread_rows(size_t rows, size_t count, uint64_t seed);

// At most `count` of these rows, in the order in which they are taken: each is the one whose latent function varies
// most given those before it (a Cholesky factor with complete pivoting: Burt, Rasmussen, van der Wilk, Convergence of
// Sparse Variational Inference in Gaussian Processes Regression, 2020). Fewer, where the others hardly vary any more.
// O(rows · count²), and count · rows numbers of memory.
std::vector<uint32_t> varied_rows(const SmoothKernel& kernel, const SmoothRows& rows, std::span<const uint32_t> among,
                                  size_t count, ThreadTeam& team, RunContext& context);

// The coordinates of some rows.
Buffer<double> points_of(const SmoothRows& rows, std::span<const uint32_t> some, MemoryBudget& budget);

// Some rows, in memory of their own.
struct RowSubset {
    RowSubset(const SmoothRows& all, std::span<const uint32_t> some, MemoryBudget& budget)
        : points(points_of(all, some, budget)), width(all.width) {
        for (const uint32_t row : some) targets.push_back(all.targets[row]);
        if (!all.weights.empty())
            for (const uint32_t row : some) weights.push_back(all.weights[row]);
    }
    SmoothRows rows() const { return {points.span(), width, targets, weights}; }

    Buffer<double> points;
    std::vector<double> targets, weights;
    size_t width;
};

} // namespace btml::gp
