// Carries blocks of neighbouring rows from their scores, which are whole numbers, to their derivatives, which are kept.
#pragma once

#include "core/boosting/objectives/derivatives.hpp"
#include "core/boosting/rows/stats.hpp"

namespace btml::boosting {

struct Derivative {
    float residual, hessian;
};

// Holds what a block of rows has.
struct BlockSums {
    float residual = 0, hessian = 0; // the largest magnitudes
    double largest_loss = 0;         // in magnitude
    int64_t losses = 0;              // Σ loss · scale, each rounded, where no loss · scale passes max_scaled_loss
};
inline constexpr double max_scaled_loss = 0x1p51;

// Holds what derivatives by the score of one of K labels are made of, for a block of rows.
struct LabelRows {
    size_t rows;
    const int64_t* scores;           // of the label
    const double *log_sums, *labels; // ln Σ e^(score · unit) over all labels; the rows' own labels
    double unit, label, factor;      // factor = K/(K−1)
};

// Sets to[i] = scores[i] · unit, and 0 behind the last row up to a multiple of lanes.
BTML_DISPATCH(void, load_scores, (const int64_t* scores, double unit, size_t rows, double* to),
              (scores, unit, rows, to));
// Makes each number in `largest` at least the score.
BTML_DISPATCH(void, raise_to_scores, (const double* scores, size_t rows, double* largest), (scores, rows, largest));
// Keeps the derivatives by the label's scores; there are no losses.
BTML_DISPATCH(void, derive_label, (const LabelRows& of, Derivative* to, BlockSums& sums), (of, to, sums));
// Sets to[i] to derivatives · scale, rounded, with a hessian of at least 1. No product passes 2^30.
BTML_DISPATCH(void, round_derivatives,
              (const Derivative* derivatives, size_t rows, double residual_scale, double hessian_scale, Stats* to),
              (derivatives, rows, residual_scale, hessian_scale, to));
// Sets to[i] to derivatives · scale, rounded likewise, times weights[i] · unit, rounded, with a hessian of at least 1
// again, and the weight for a count. No product passes 2^50.
BTML_DISPATCH(void, weigh_derivatives,
              (const Derivative* derivatives, const int64_t* weights, size_t rows, double residual_scale,
               double hessian_scale, double unit, NodeSums* to),
              (derivatives, weights, rows, residual_scale, hessian_scale, unit, to));
// Keeps the block's derivatives.
BTML_DISPATCH(void, keep_derivatives,
              (const DerivativeBlock& block, double loss_scale, Derivative* to, BlockSums& sums),
              (block, loss_scale, to, sums));

} // namespace btml::boosting
