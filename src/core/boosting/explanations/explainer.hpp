// Explains scores of boosted trees: what each feature of a row adds to them, as SHAP values.
//
// They are the path-dependent ones of Lundberg et al. (From local explanations to global understanding with explainable
// AI for trees, Nature Machine Intelligence 2020): Shapley values of a game whose players are features, where a row
// goes both ways at a node whose feature is not in the coalition, in the ratio of the children's covers. A node's cover
// is the weight of the training rows that reached it. Where both covers are 0, the ways are alike.
//
// A leaf of value v is a product game: with z_j the part of the cover that the path's nodes of feature j let through,
// and o_j 1 where the row passes them all, else 0, a coalition gets v ∏_{j in it} o_j ∏_{other j} z_j. Its Shapley
// value is the integral of the multilinear extension's derivative along the diagonal (Owen: Multilinear Extensions of
// Games, Management Science 1972), v (o_i − z_i) ∫ ∏_{j≠i} (t o_j + (1 − t) z_j) dt over (0, 1): of a polynomial, which
// the rule of Gauss and Legendre integrates without error. Products at the rule's points go down a tree, and their sums
// go up again, so that a row takes O(nodes · features of a path). The points lie inside of (0, 1) and no factor there
// is negative, so that deep paths round no worse than short ones.
#pragma once

#include "core/base/buffer.hpp"
#include "core/boosting/explanations/path_sums.hpp"
#include "core/boosting/trees/missing_values.hpp"

#include <map>

namespace btml::boosting {

class Explainer {
  public:
    // Copies what it needs of the model, into the memory of the context, which must outlive it. Error memory_limit,
    // before the work.
    Explainer(const Model& model, RunContext& context);

    size_t features() const { return features_; }
    size_t score_count() const { return bases_.size(); }

    // Puts a contribution to one score for each feature, and then the base, which is the mean of the score by covers:
    // features() + 1 numbers, which add up to the score (of an imported model that sums floats, before it rounds).
    // `row` is as of Predictor::scores; an offset contributes itself. Not thread-safe (scratch space). Errors
    // null_value or out_of_range for an offset that is NULL or not finite.
    void contributions(std::span<const double> row, size_t score, std::span<double> to);
    // Puts those of all scores, one score after the other.
    void contributions(std::span<const double> row, std::span<double> to);

    // Puts features × features numbers of one score: half of the two features' Shapley interaction index, and on the
    // diagonal what of the feature's contribution remains, so that rows and columns add up to the contributions (ibid.,
    // SHAP interaction values). A tree takes O(leaves · (features of a path)³).
    void interactions(std::span<const double> row, size_t score, std::span<double> to);

  private:
    // Says where a row goes at a split, and what only interactions need to know.
    struct Step {
        double threshold;
        uint32_t first_code, codes; // in codes_
        bool null_left;
        bool is_number; // of a threshold that every number compares with; else as SplitRule has it
        bool categorical;
        bool leaves[2];  // whether the left and the right child are leaves
        uint32_t parent; // the split above; of the root itself
    };
    // Says, of a tree, how its paths come by a feature again.
    struct Shape {
        std::vector<uint32_t> above; // by inner node, as in PathSplit
        std::vector<double> rests;   // by node, as of PathSplit's children
        size_t features = 0;         // of a path, at most
    };

    Shape shape_of(const Tree& tree);
    PathRule rule_for(size_t features);
    void reserve(const Model& model);
    void add_tree(const Tree& tree, const Model& model);
    const Step* steps_of(const PathTree& tree) const { return steps_.data() + (tree.splits.data() - splits_.data()); }
    PathScratch scratch() { return {passed_.data(), products_.data(), inverses_.data()}; }
    bool goes_left(const Step& step, double x) const;
    void walk(const PathTree& tree, std::span<const double> row);
    void add_interactions(const PathTree& tree, std::span<double> to);
    size_t find_path(const PathTree& tree, size_t split, size_t side);

    RunContext& context_;
    MissingValues missing_;
    double divisor_; // of sums over trees
    const size_t features_;
    std::vector<double> bases_;
    const std::optional<int32_t> offset_;
    const std::string offset_name_;               // in errors
    std::map<size_t, std::vector<double>> rules_; // by number of points: the numbers of a PathRule
    Buffer<PathTree> trees_;                      // as in Model
    Buffer<PathSplit> splits_;                    // of all trees
    Buffer<Step> steps_;                          // of all trees
    Buffer<uint32_t> codes_;                      // of categories that go left
    size_t max_nodes_ = 0, max_path_ = 0, max_points_ = 0;
    Buffer<uint32_t> last_; // by feature: the node that it led to last, while paths are walked; 0 then
    // What follows is of the row and tree at hand.
    Buffer<double> products_, inverses_, sums_;
    Buffer<uint8_t> passed_, side_;
    // Hold a leaf's path: its features, by what each multiplies its product for a contribution, at each point, and by
    // feature the number of the last path that it was met on. Numbers are not used again, so that nothing needs to be
    // cleared, even after a cancellation.
    Buffer<int32_t> path_;
    Buffer<double> slopes_;
    Buffer<uint64_t> met_;
    uint64_t paths_ = 0;
};

} // namespace btml::boosting
