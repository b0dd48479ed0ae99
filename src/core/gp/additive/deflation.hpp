// Finds approximate eigenvectors of a covariance matrix K, by which conjugate gradients get rid of its largest
// eigenvalues: many rows that are alike have one in proportion to their number, and no member's solution alone undoes
// them.
//
// The n × k matrix Z comes from block power iteration; with E = Z'KZ, the preconditioner P becomes (I − Z E⁻¹ Z'K) P +
// Z E⁻¹ Z' (A-DEF2 of Tang, Nabben, Vuik, Erlangga: Comparison of Two-Level Preconditioners Derived from Deflation,
// Domain Decomposition and Multigrid Methods, 2009).
#pragma once

#include "core/gp/additive/additive_covariance.hpp"

#include <optional>

namespace btml::gp {

// Holds sixteen columns of numbers, row by row.
using Coefficients = std::vector<ColumnValues>;

// Holds the Cholesky factor of a small symmetric matrix, and solves for sixteen right-hand sides at once. It is by
// hand, because Eigen's LLT stops at a row that depends on those above, and adds sums up in an order of the processor's
// vectors, where a fit gives the same bits on every processor.
class SmallCholesky {
  public:
    // Factors size × size numbers, row by row, of which it reads the lower triangle. The matrix may be singular: a row
    // that depends on those above gets an infinite pivot, so that its part of every solution is 0.
    SmallCholesky(std::vector<double> matrix, size_t size);

    size_t size() const noexcept { return size_; }
    // x becomes L⁻¹x, or L'⁻¹x.
    void solve_lower(Coefficients& x) const;
    void solve_upper(Coefficients& x) const;

  private:
    std::vector<double> factor_;
    size_t size_;
};

class Deflation {
  public:
    // A block has sixteen vectors; few rows have fewer blocks.
    static constexpr size_t max_blocks = 8, rows_of_a_block = 64;
    static size_t blocks(size_t rows) { return std::min(max_blocks, rows / rows_of_a_block); }

    explicit Deflation(RunContext& context);

    // Returns how many passes over every member follow() will make for this sum.
    uint64_t passes_to_follow(const AdditiveCovariance& sum) const;
    // Makes Z for the sum as it is from Z for the sum as it was, unless that is the same.
    void follow(AdditiveCovariance& sum, RunContext& context);

    // Adds to x the part of the solution within Z, so that Z'r becomes 0 for the residual r = b − K·x.
    void project(ThreadTeam& team, Block& r, Block& x);
    // Adds Z E⁻¹ (Z'r − (KZ)'z) to z.
    void correct(ThreadTeam& team, const Block& r, Block& z);

  private:
    using Summation = void (*)(const Columns* left, const Columns* right, size_t rows, double* sums);

    Coefficients products(ThreadTeam& team, const std::vector<Block>& left, const Block& right, Summation sum);
    SmallCholesky factor(ThreadTeam& team, const std::vector<Block>& left, const std::vector<Block>& right);
    void orthonormalise(ThreadTeam& team);
    void iterate(AdditiveCovariance& sum, RunContext& context);
    void solve(Coefficients& coefficients) const;

    MemoryBudget& memory_;
    uint64_t version_ = 0;                 // The sum had it when Z was made.
    std::vector<Block> vectors_;           // These are Z.
    std::vector<Block> products_;          // These are KZ.
    std::optional<SmallCholesky> inverse_; // It solves systems with E.
    Buffer<double> parts_;                 // Each part of the rows adds its products up here.
};

} // namespace btml::gp
