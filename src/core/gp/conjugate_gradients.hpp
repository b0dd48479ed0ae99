// Sixteen linear systems with the covariance matrix of a kernel sum, solved together.
#pragma once

#include "core/gp/kernel_sum.hpp"

namespace btml::gp {

class ConjugateGradients {
  public:
    // How far, and for how many iterations at most, the systems of a model are solved.
    static constexpr double model_tolerance = 1e-2;
    static constexpr int model_iterations = 500;
    // Passes over every member for an iteration.
    static constexpr uint64_t passes = 2;

    struct Outcome {
        int iterations;
        double residual; // the largest of the systems' |b − K·x| / |b|
    };

    explicit ConjugateGradients(RunContext& context);

    // Preconditioned conjugate gradients (Saad: Iterative Methods for Sparse Linear Systems, Algorithm 9.1) from x
    // until every system's residual is at most `tolerance`, or for so many iterations. Systems share nothing but the
    // passes. Polls once in an iteration at least.
    Outcome solve(KernelSum& sum, const Block& b, Block& x, double tolerance, int iterations, RunContext& context);

  private:
    Block residual_, direction_, product_, preconditioned_;
    Buffer<ColumnValues> scratch_;
};

} // namespace btml::gp
