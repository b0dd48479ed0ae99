// The inner loops of kernel sums: a tile is eight queries against a block of up to 256 keys, in float32. Results are
// the same bits at every level, so every multiply-add is fused: where a processor cannot, it is emulated, slowly.
//
// Coordinates are in the frame, relative to the block's centre (see KeyBlocks). What is below KernelFacts::least is 0.
#pragma once

#include "core/base/levels.hpp"
#include "core/pairwise/kernels/kernels.hpp"

namespace btml::pairwise {

inline constexpr size_t tile_queries = 8;
inline constexpr size_t keys_per_vector = 16; // keys side by side
inline constexpr size_t block_keys = 256;
inline constexpr size_t tile_values = tile_queries * block_keys;

// How a block's differences are formed.
enum class Form : uint8_t {
    products, // ‖q − k‖² = ‖q‖² + ‖k‖² − 2q·k: half the work, for keys near the centre and kernels that take it
    differences, // q − k in float32
    wide         // q − k in pairs of float32: for keys far from the centre
};

struct TileQueries {
    const float* high;  // [dimension][query]
    const float* low;   // what `high` leaves of a number; null but for wide blocks
    const float* norms; // ‖q‖² of each, for products
};

struct BlockKeys {
    const float* high; // [vector][dimension][lane]
    const float* low;
    const float* norms;
    size_t vectors; // of `keys_per_vector` keys; even
};

namespace tiles {

// Eight queries ([dimension][query]) minus the centre; low or norms may be null, see TileQueries.
BTML_DISPATCH(void, centre,
              (const double* queries, const double* centre_of_block, size_t dimensions, float* high, float* low,
               float* norms),
              (queries, centre_of_block, dimensions, high, low, norms));
// tile[query·256 + key] = k, for 16·vectors keys.
BTML_DISPATCH(void, evaluate,
              (Kernel kernel, Form form, const TileQueries& queries, const BlockKeys& keys, size_t dimensions,
               float* tile),
              (kernel, form, queries, keys, dimensions, tile));
// Square each value of the tile (0 below 2^−40), or multiply it by the mask of its key.
BTML_DISPATCH(void, square, (float* tile, size_t vectors), (tile, vectors));
BTML_DISPATCH(void, multiply, (float* tile, const float* mask, size_t vectors), (tile, mask, vectors));
// sums[query·8 + i] += Σ tile·weight over keys i, i + 8, i + 16 …
BTML_DISPATCH(void, weigh, (const float* tile, const float* weights, size_t vectors, double* sums),
              (tile, weights, vectors, sums));

} // namespace tiles

} // namespace btml::pairwise
