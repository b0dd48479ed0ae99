// The inner loop of explanations: products along a row's paths to the leaves of a tree, downwards, and their sums,
// upwards. Explainer says what they stand for.
#pragma once

#include "core/base/levels.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace btml::boosting {

inline constexpr size_t path_lanes = 4; // numbers side by side

// An inner node.
struct PathSplit {
    struct Child {
        uint32_t node;
        double share; // the child's part of the cover; of a leaf, times its value
        double rest;  // what the nodes of the feature on the way to it let through of the cover
        double value; // of a leaf; else 1
    };

    uint32_t node;
    uint32_t above; // the last node on the way here whose parent splits the feature; 0: none
    int32_t feature;
    double rest;       // of `above`
    Child children[2]; // left and right
};

// A rule of integration over (0, 1): a multiple of path_lanes of points t.
struct PathRule {
    size_t size;
    const double *points, *rests, *inverse_rests, *weights; // t, 1 − t, 1/(1 − t)
};

struct PathTree {
    std::span<const PathSplit> splits; // parents before children
    PathRule rule;
};

// What a row makes of a tree, by node.
struct PathScratch {
    uint8_t* passed;  // 1 where the row goes along every edge of the last edge's feature on the way to the node
    double* products; // numbers for each point, as the next
    double* inverses; // where passed is 1: of the factor that the last edge's feature has
};

// Puts the products of all paths: of leaves, times the weights of the points and their values. `side` says by split
// where the row goes: 0 left, 1 right.
BTML_DISPATCH(void, multiply_down, (const PathTree& tree, const uint8_t* side, PathScratch scratch),
              (tree, side, scratch));
// Sums them up to the root, and adds to path_lanes numbers of each feature what it contributes.
BTML_DISPATCH(void, sum_up, (const PathTree& tree, const uint8_t* side, PathScratch scratch, double* sums),
              (tree, side, scratch, sums));

} // namespace btml::boosting
