// How large a tensor sketch has to be. The relative variance of the squared norm of a sketch of size k of a vector over
// the rows of a join of τ tables is at most (2 + 3^τ)/k (Avron, Nguyen, Woodruff: Subspace Embeddings for the
// Polynomial Kernel, NIPS 2014), so by Chebyshev's inequality ‖sk(r)‖² is (1 ± ε)‖r‖² with probability 1 − δ
// once k ≥ (2 + 3^τ)/(ε²δ).
#pragma once

#include "core/base/options_table.hpp"

#include <cstdint>

namespace btml::relational {

// How a norm is estimated.
struct NormOptions {
    int sketch_size = 0; // 0: by epsilon and delta
    double epsilon = 0.1, delta = 0.1;
    uint64_t seed = 0;
    bool verify = false;
};

extern const OptionsTable<NormOptions> norm_options_table;

// ⌈(2 + 3^τ)/(ε²δ)⌉, 2^63 where it is more. 0 < ε, 0 < δ < 1.
uint64_t sketch_size(double epsilon, double delta, int tables);

// √((2 + 3^τ)/k): the bound on the relative standard deviation.
double sketch_relative_sd(uint64_t size, int tables);

// Guarantees for many sums at once: the median of `sketches` independent sketches of `size` numbers is (1 ± ε)‖r‖² for
// each of `groups` vectors r with probability 1 − δ for all of them together. One sketch where that is less work.
struct SketchPlan {
    uint64_t size;
    int sketches; // odd
};
SketchPlan sketch_plan(double epsilon, double delta, uint64_t groups, int tables);

} // namespace btml::relational
