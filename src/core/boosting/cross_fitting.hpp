// Folds of a dataset's rows, and what a training takes that knows nothing of one of them: what it says of that part is
// out of fold. Some rows may be spared: they are in no fold, and no training without a fold knows them.
#pragma once

#include "core/boosting/calibration_rows.hpp"

namespace btml::boosting {

class CrossFitting {
  public:
    // Keeps targets and weights, and deals the rows to train on out to folds, by rows of the target's table, of which
    // so many are spared. The dataset is as for take_calibration_rows, and has its roles. Error invalid_argument for
    // fewer such rows than folds beside those that are spared.
    CrossFitting(const Dataset& dataset, size_t folds, size_t spared, uint64_t seed, ThreadTeam& team,
                 RunContext& context);

    size_t folds() const { return parts_.size() - 1; }
    uint64_t all_rows() const; // of the folds, and spared ones
    const TargetRows& rows(size_t fold) const { return parts_[fold]; }
    const TargetRows& spared() const { return parts_.back(); }
    // Returns the folds, and after them the rows that are spared.
    std::span<const TargetRows> parts() const { return parts_; }

    // Returns what a training takes: rows of the fold are held out, all others but spared ones trained on; without a
    // fold, all are trained on. Other targets are given by row of the join. With them there are no directions, which
    // are promises about predictions.
    Dataset without(std::optional<size_t> fold, const Buffer<double>* targets = nullptr) const;

  private:
    void set_targets(const Buffer<double>& targets, Dataset& dataset) const;
    Buffer<uint8_t> roles(std::optional<size_t> without) const;

    RunContext& context_;
    Dataset kept_; // without values of features
    std::vector<TargetRows> parts_;
};

} // namespace btml::boosting
