// A boosted ensemble of regression trees: a value that knows its features by name.
#pragma once

#include "core/base/provenance.hpp"
#include "core/boosting/options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace btml::boosting {

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

struct Model : Provenance {
    double base = 0; // prediction = base + Σ over trees of the reached leaf's value, summed in this order
    std::vector<Tree> trees;
    std::vector<LogEntry> log; // one per tree that was grown, those dropped by early stopping included
    Options options;
    std::optional<SketchReport> sketch; // nothing where all sums were exact
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
