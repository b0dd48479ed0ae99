// A boosted ensemble of regression trees: a value that knows its features by name.
#pragma once

#include "core/base/feature.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace btml::boosting {

enum class Criterion { variance, mse_sum };

// Cromp, Samadian, Pruhs: Relational Boosted Regression Trees, §2 (Algorithms 1 and 2) with shrinkage.
struct Options {
    int trees = 100;
    double learning_rate = 0.1; // (0, 1]
    int max_leaves = 31;        // 0: no limit
    int max_depth = 0;          // 0: no limit
    double min_leaf_rows = 20;  // rows of the join, or their total weight, on either side of a split
    double l2 = 0;
    double min_gain = 0;
    // A split tells a category from the others only if it has so many rows (or weight) in the node, and at most so many
    // categories (0: no limit). The others, and those not seen in training, stay together on the right.
    double min_category_rows = 0;
    int max_split_categories = 0;
    int max_bins = 255;          // 0: every distinct value is a candidate
    int early_stopping = 0;      // trees without a better holdout loss before training stops; 0: never
    double row_fraction = 1;     // (0, 1]
    double feature_fraction = 1; // (0, 1]
    Criterion criterion = Criterion::variance;
    // Whether a factorised join's sums of squared residuals, which criterion mse_sum needs, are estimated: by one
    // sketch of sketch_size numbers, or (0) by as many as keep the sums of a node within 1 ± epsilon with probability 1
    // − delta.
    bool sketch_residuals = false;
    int sketch_size = 0;
    double epsilon = 0.1, delta = 0.1; // both in (0, 1)
    bool verify = false;               // compare the estimates of the trees' roots with the exact sums
    int64_t seed = 0;

    // Error invalid_argument naming the option, its value and the valid ones.
    void validate() const;
};

// x < threshold (in PostgreSQL's order, NaN greatest), or the code in `categories`, or NULL when null_left: go left.
struct Node {
    int32_t parent = -1;
    int32_t left = -1, right = -1; // -1: a leaf
    int32_t feature = -1;          // of an inner node
    bool null_left = false;
    double threshold = 0;             // numeric feature
    std::vector<uint32_t> categories; // categorical feature: codes that go left, ascending
    double value = 0;                 // of a leaf: what it adds to the prediction, learning rate included
    double rows = 0;                  // training rows (total weight) that reach the node
    double gain = 0;                  // decrease of the squared error by this node's split; 0 for a leaf

    bool is_leaf() const { return left < 0; }
};

using Tree = std::vector<Node>; // node 0 is the root; parents before children

struct LogEntry {
    double train_loss; // mean squared error after this tree
    std::optional<double> holdout_loss;
};

// How sums of squared residuals were estimated.
struct SketchReport {
    uint64_t size; // numbers of a sketch
    int sketches;
    std::optional<double> error; // with verify: the largest relative error of the sum over a tree's root
};

struct Model {
    std::string target;
    double base = 0; // prediction = base + Σ over trees of the reached leaf's value, summed in this order
    std::vector<Feature> features;
    std::vector<Tree> trees;
    std::vector<LogEntry> log; // one per tree that was grown, those dropped by early stopping included
    Options options;
    std::optional<SketchReport> sketch;    // nothing where all sums were exact
    std::string strategy, strategy_reason; // how the join was handled, for people
    uint64_t rows = 0;                     // rows of the join trained on
    uint64_t holdout_rows = 0;
    uint64_t rows_skipped = 0; // rows of the join whose target is NULL
};

// Writes and reads the payload of a model value. decode checks every index and number once, so that prediction needs
// no checks: error corrupt_model.
void encode(const Model& model, Writer& writer);
Model decode(Reader& reader);

// Total gain and number of splits per feature, in the order of Model::features.
struct Importance {
    double gain = 0;
    int64_t splits = 0;
};
std::vector<Importance> feature_importance(const Model& model, RunContext& context);

} // namespace btml::boosting
