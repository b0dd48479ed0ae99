// Trainings that grow side by side over the same bins, each without a fold of the rows, which says how good it is.
#pragma once

#include "core/boosting/cross_fitting.hpp"

#include <functional>
#include <memory>

namespace btml::boosting {

class FoldTrainings {
  public:
    // without(f): what the training without fold f takes. The folds, the data and `phase`, which progress shows, must
    // outlive it. Threads are shared out among the trainings. Errors as of Training.
    FoldTrainings(const CrossFitting& folds, const std::function<Dataset(size_t fold)>& without, const Options& options,
                  const BinnedData& data, const char* phase, ThreadTeam& team, RunContext& context);
    ~FoldTrainings();

    // Grows them to `most` iterations, or until `patience` of them brought the mean loss of all folds down by no more
    // than this part, and returns how many of them have the least: 0 where constants have it. Folds count by their
    // rows. To be called once.
    size_t best_iterations(size_t most, size_t patience, double min_progress = 0);

    // Returns the model whose predictions are the mean of theirs after so many iterations.
    Model mean(size_t iterations) const;
    // Of the training without this fold.
    const Model& model(size_t fold) const;

  private:
    class Growth;
    struct Member;

    const CrossFitting& folds_;
    const char* const phase_;
    ThreadTeam& team_;
    RunContext& context_;
    std::atomic<bool> stopped_{false};             // told to stop, or failed
    std::vector<std::unique_ptr<Member>> members_; // by fold
};

} // namespace btml::boosting
