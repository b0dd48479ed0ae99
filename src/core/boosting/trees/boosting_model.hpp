// A boosted ensemble of regression trees: a value that knows its features by name.
#pragma once

#include "core/boosting/trees/boosting_options.hpp"
#include "core/data/dataset.hpp"
#include "core/data/provenance.hpp"
#include "core/uncertainty/calibration.hpp"

#include <algorithm>
#include <optional>
#include <span>

namespace btml::boosting {

// Returns the code that x is; `none` where it is no whole number below that.
inline size_t code_of(double x, size_t none) {
    if (!(x >= 0 && x < static_cast<double>(none))) return none;
    const auto code = static_cast<size_t>(x);
    return static_cast<double>(code) == x ? code : none;
}

// Tells which child of an inner node a value goes to.
struct SplitRule {
    bool null_left, categorical;
    double threshold;                     // of a number: smaller ones go left, in PostgreSQL's order
    std::span<const uint32_t> categories; // of a category: codes that go left, ascending

    // x: a number, a category's code (anything else is a category never seen), or null_number.
    bool goes_left(double x) const {
        if (is_null(x)) return null_left;
        if (!categorical) return sql_less(x, threshold);
        return std::binary_search(categories.begin(), categories.end(), code_of(x, UINT32_MAX));
    }
};

struct Node {
    int32_t parent = -1;
    int32_t left = -1, right = -1; // -1: a leaf
    int32_t feature = -1;          // of an inner node
    bool null_left = false;
    double threshold = 0;             // numeric feature
    std::vector<uint32_t> categories; // categorical feature: codes that go left, ascending
    double value = 0;                 // of a leaf: what it adds to the prediction, learning rate included
    double rows = 0; // training rows (total weight) that reach the node: its cover, which its children's add up to
    double gain = 0; // of this node's split, as in split.hpp; 0 for a leaf

    bool is_leaf() const { return left < 0; }
    SplitRule rule(const std::vector<Feature>& features) const {
        return {null_left, features[feature].categorical, threshold, categories};
    }
};

using Tree = std::vector<Node>; // node 0 is the root; parents before children

struct LogEntry {
    double train_loss; // the mean loss after this iteration; of squared loss, the mean squared error
    std::optional<double> holdout_loss = {};
    std::optional<double> holdout_metric = {};

    // Returns what early stopping goes by, of rows that are held out.
    double value() const { return holdout_metric ? *holdout_metric : *holdout_loss; }

    friend bool operator==(const LogEntry&, const LogEntry&) = default;
};

// How sums of squared residuals were estimated.
struct SketchReport {
    uint64_t size; // numbers of a sketch
    int sketches;
    std::optional<double> error; // with verify: the largest relative error of the sum over a tree's root
};

// What part of a join was trained on.
struct SampleReport {
    WideCount join_rows; // with a target
    uint64_t sample_rows;
};

// What is different about a model that another library has trained.
struct Import {
    std::string library;                       // with its version
    std::string objective;                     // in the library's words; that of the options is the nearest
    Link link = Link::identity;                // how predictions follow from scores
    double steepness = 1;                      // what a score is multiplied by under a logistic link
    bool single_precision = false;             // scores are sums of floats, rounded after each tree
    bool averages = false;                     // scores are divided by the number of iterations
    std::vector<uint8_t> zero_is_missing = {}; // by feature: 1 where a zero counts as NULL; empty: nowhere
};

// How far off predictions are, by the features.
struct Deviation {
    double base = 0;
    std::vector<Tree> trees; // for ln of squared residuals, of one score
    double factor = 1;       // of e^(score / 2): that makes the mean square of z one

    double before_factor(double score) const { return exponential_of_score(score / 2); }
};

struct Model : Provenance {
    // What the target's codes stand for, in the order of scores where there is one for each; empty: it is a number.
    std::vector<std::string> labels;
    std::vector<double> label_weights; // what a row of a label counted in the loss; empty: 1
    std::vector<int8_t> directions; // by feature: 1 where predictions never fall as it grows, −1 never grow; empty: 0
    std::optional<int32_t> offset;  // the feature that is added to the score; no node splits it
    // Score s of a row is bases[s] + Σ over trees s, s + scores(), … of the reached leaf's value, summed in this order.
    std::vector<double> bases{0};
    std::vector<Tree> trees;
    std::vector<LogEntry> log;        // one per iteration, those dropped by early stopping included
    std::optional<LogEntry> baseline; // of the best constant, before the first iteration
    Options options;
    std::optional<SketchReport> sketch;                  // nothing where all sums were exact
    std::optional<SampleReport> sample;                  // nothing where it was the whole join
    std::optional<Import> imported;                      // nothing where it was trained here
    std::optional<Deviation> deviation;                  // nothing where it is the same everywhere
    std::optional<uncertainty::Calibration> calibration; // nothing where no row that was not trained on was seen

    Link link() const { return imported ? imported->link : objective_of(options.objective).link; }
    size_t scores() const { return bases.size(); } // of a row, and trees of an iteration
    size_t iterations() const { return trees.size() / scores(); }
};

// Writes and reads the payload of a model value. decode checks every index and number once, so that prediction needs
// no checks: error corrupt_model.
void encode(const Model& model, Writer& writer);
Model decode(Reader& reader);

// Returns the trees of a model's deviation as a model of their own, whose prediction is ln of its square, the factor
// aside.
Model log_variance_of(const Model& model);

// Total gain and number of splits per feature, in the order of Model::features.
struct Importance {
    double gain = 0;
    int64_t splits = 0;
};
std::vector<Importance> feature_importance(const Model& model, RunContext& context);

} // namespace btml::boosting
