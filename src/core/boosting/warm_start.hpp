// Training that continues from a model: its trees are grown again over the rows at hand, split by split, and more are
// added.
#pragma once

#include "core/boosting/growing/training_set.hpp"

namespace btml::boosting {

class WarmStart {
  public:
    // Takes the trees of a model in terms of the dataset's features, which go by name and type, and adds to the
    // features what the trees need: thresholds, and categories that no row has any more. Error invalid_argument naming
    // the feature, option, label or offset that is not as the model's.
    WarmStart(Model model, Dataset& dataset, const Options& options, RunContext& context);

    size_t iterations() const { return model_.iterations(); }
    size_t scores() const { return model_.scores(); }
    const std::vector<double>& bases() const { return model_.bases; }
    const Tree& tree(size_t t) const { return model_.trees[t]; }

    // Whether a model that has grown the trees again has the rows that they were trained on, as far as its losses and
    // counts tell, and the same are held out: rows that calibrate it have no part in its trees then.
    bool has_same_rows(const Model& grown) const;

    // Splits the rows as a tree does. The set has started it, with no features to sum.
    std::vector<TrainingSet::Leaf> grow_again(size_t t, TrainingSet& training) const;

  private:
    void check_options(const Options& options) const;
    void check_labels(const Dataset& dataset) const;
    std::vector<int32_t> match_features(const Dataset& dataset) const;
    void check_directions(const Dataset& dataset, const std::vector<int32_t>& places) const;
    void renumber(const std::vector<int32_t>& places, Dataset& dataset, RunContext& context);

    Model model_; // its trees have the dataset's features and categories
};

} // namespace btml::boosting
