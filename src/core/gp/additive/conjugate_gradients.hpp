// Solves sixteen linear systems with the covariance matrix of a kernel sum together.
#pragma once

#include "core/gp/additive/deflation.hpp"

namespace btml::gp {

// Returns the largest residual, or infinity where one is no number.
double largest(std::span<const double> residuals);

class ConjugateGradients {
  public:
    // A model's systems are solved to this tolerance, for so many passes at most; with a residual beyond the largest
    // one neither models nor draws are kept.
    static constexpr double model_tolerance = 1e-2, max_residual = 5e-2;
    static constexpr uint64_t model_passes = 1000;

    struct Outcome {
        int iterations;
        // They are |b − K·x| / |b| of each system (0 where b is 0): of solve() from products in double precision, of
        // approach() those of its iterations.
        ColumnValues residuals;

        double worst() const;
    };

    // Returns how many blocks it takes to solve systems of so many rows.
    static uint64_t blocks(size_t rows) { return 6 + 2 * Deflation::blocks(rows); }

    // Keeps a reference to the sum, whose weights may change between solutions.
    ConjugateGradients(AdditiveCovariance& sum, RunContext& context);

    // Runs deflated, preconditioned conjugate gradients (Saad: Iterative Methods for Sparse Linear Systems, Algorithm
    // 9.1) from x, until every system's residual is at most `tolerance` of b and a tenth of the noise, which a
    // prediction is off by, or for so many passes over all members. x becomes the iterates with their residuals made
    // smallest (Zhou, Walker: Residual Smoothing Techniques for Iterative Methods, 1994), which grow by nothing but
    // rounding, whatever the condition of K. Systems share nothing but the passes. Polls once in an iteration at least.
    Outcome solve(const Block& b, Block& x, double tolerance, uint64_t passes, RunContext& context);
    // Does the same to that tolerance alone, and roughly: rounding may leave larger residuals than it returns.
    Outcome approach(const Block& b, Block& x, double tolerance, uint64_t passes, RunContext& context);
    // Returns how many passes solve() makes before its iterations, and approach() at most.
    uint64_t passes_to_start() const { return deflation_.passes_to_follow(sum_) + 2 * passes_of_residual; }
    // Returns b − K·x of the last solve().
    const Block& residual() const noexcept { return smoothed_; }

  private:
    static constexpr uint64_t passes_of_residual = 2;
    ColumnValues goals(const ColumnValues& norms, double tolerance) const;
    // squares: of the residuals; norms: of the right-hand sides.
    static Outcome outcome_of(int iterations, const ColumnValues& squares, const ColumnValues& norms);
    int iterate(Block& x, const ColumnValues& goals, uint64_t passes, RunContext& context);
    // Goes on from x until the goals are met, the passes made are `last`, or for so many iterations.
    int descend(Block& x, const ColumnValues& goals, uint64_t last, int max_iterations, Deflation* deflation,
                RunContext& context);
    void find_direction(bool first, ColumnValues& progress);
    void scale(const Block& b, Block& x);
    void smooth(Block& x);
    uint64_t passes_made() const { return sum_.passes() / sum_.members().size(); }

    AdditiveCovariance& sum_;
    Deflation deflation_;
    bool needs_deflation_ = false;
    Block iterate_, residual_, direction_, product_, preconditioned_, smoothed_;
    Buffer<ColumnValues> scratch_;
};

} // namespace btml::gp
