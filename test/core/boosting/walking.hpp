// The definition that Predictor must agree with to the last bit: a plain walk from root to leaf.
#pragma once

#include "core/boosting/trees/boosting_predictor.hpp"

namespace btml::boosting {

inline std::vector<double> scores_by_walking(const Model& model, std::span<const double> row) {
    MissingValues missing(model);
    const std::span<const double> features = missing(row);
    const bool sums_floats = model.imported && model.imported->single_precision;
    std::vector<double> scores = model.bases;
    if (model.offset)
        for (double& score : scores) score += features[*model.offset];
    for (size_t t = 0; t < model.trees.size(); t++) {
        const Tree& tree = model.trees[t];
        const Node* node = &tree[0];
        while (!node->is_leaf()) {
            const bool left = node->rule(model.features).goes_left(features[node->feature]);
            node = &tree[left ? node->left : node->right];
        }
        double& score = scores[t % scores.size()];
        score += node->value;
        if (sums_floats) score = static_cast<double>(static_cast<float>(score));
    }
    if (model.imported && model.imported->averages && !model.trees.empty())
        for (double& score : scores) score /= static_cast<double>(model.iterations());
    return scores;
}

inline double predict_by_walking(const Model& model, std::span<const double> features) {
    const double score = scores_by_walking(model, features)[0];
    return prediction_of(model.link(), model.imported ? model.imported->steepness * score : score);
}

} // namespace btml::boosting
