// Trees over rows whose features are bins.
#pragma once

#include "core/boosting/binning/binning.hpp"
#include "core/boosting/growing/split.hpp"
#include "core/boosting/trees/boosting_model.hpp"

namespace btml::boosting {

// Returns the split of an inner node, by the bins of its feature.
Split split_at(const Node& node, const FeatureBins& bins);

// Predicts for rows of the join that have been binned. Thread-safe.
class BinnedTrees {
  public:
    // Trees of one score. Keeps a reference to the data, whose features are those that the nodes count.
    BinnedTrees(std::span<const Tree> trees, const BinnedData& data, RunContext& context);

    // Adds the values of the rows' leaves to their scores, in the order of trees. bins: scratch space.
    void add(std::span<const uint32_t> rows, std::span<double> scores, std::vector<uint32_t>& bins) const;

  private:
    struct Step {
        int32_t left, right; // places; of a leaf both are the step's own
        int32_t feature;
        int32_t last_bin; // of a number: of those that go left
        bool null_left;
        uint32_t first_category, end_category; // of a category: those that go left, in categories_
        double value;
    };

    // Bins become those of the rows, feature by feature.
    void read_bins(std::span<const uint32_t> rows, std::vector<uint32_t>& bins) const;
    bool goes_left(const Step& step, uint32_t bin) const;

    const BinnedData& data_;
    Buffer<Step> steps_;
    Buffer<uint32_t> categories_;
    Buffer<uint32_t> roots_; // of the trees, in steps_
};

} // namespace btml::boosting
