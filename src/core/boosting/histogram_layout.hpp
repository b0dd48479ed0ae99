// Where the bins of a tree's features lie in a histogram, one feature after the other.
#pragma once

#include "core/boosting/binning.hpp"

namespace btml::boosting {

class HistogramLayout {
  public:
    // Features with more bins than `most` have no place.
    HistogramLayout(const std::vector<FeatureBins>& features, size_t most) : features_(features), most_(most) {}

    // The features of the next tree, ascending.
    void select(const std::vector<int>& features) {
        selected_.clear();
        offsets_.assign(features_.size(), 0);
        bins_ = 0;
        for (const int f : features) {
            if (!holds(f)) continue;
            selected_.push_back(f);
            offsets_[static_cast<size_t>(f)] = bins_;
            bins_ += features_[static_cast<size_t>(f)].size();
        }
    }

    bool holds(int feature) const { return features_[static_cast<size_t>(feature)].size() <= most_; }
    const std::vector<int>& selected() const { return selected_; }
    // Where a selected feature's bins begin.
    size_t offset(int feature) const { return offsets_[static_cast<size_t>(feature)]; }
    size_t bins() const { return bins_; } // of the selected features
    size_t max_bins() const {             // of any tree's
        size_t bins = 0;
        for (size_t f = 0; f < features_.size(); f++)
            if (holds(static_cast<int>(f))) bins += features_[f].size();
        return bins;
    }

  private:
    const std::vector<FeatureBins>& features_;
    const size_t most_;
    std::vector<int> selected_;
    std::vector<size_t> offsets_; // by feature
    size_t bins_ = 0;
};

} // namespace btml::boosting
