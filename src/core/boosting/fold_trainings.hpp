// Trainings that grow side by side over the same bins, each without a fold of the rows, which says how good it is.
#pragma once

#include "core/boosting/booster.hpp"

#include <functional>
#include <memory>

namespace btml::boosting {

// Says which numbers of iterations trainings are compared at, and when they stop.
struct FoldStopping {
    size_t patience;         // so many iterations without progress are the last
    size_t first = 0;        // the least number of iterations; 0: constants are compared, too
    double min_progress = 0; // the part of the value that progress takes off it; 0: whatever is better is progress
    std::vector<double> weights = {}; // of the folds in the mean; empty: all count the same
};

class FoldTrainings {
  public:
    // without(f): what the training without fold f takes, 0 ≤ f < folds. Trees grow to options.trees; early_stopping is
    // up to the caller. The data and `phase`, which progress shows, must outlive it. Threads are shared out among the
    // trainings. names: of the folds, for the DETAIL of errors; none: errors are those of Training.
    FoldTrainings(size_t folds, const std::function<Dataset(size_t fold)>& without, const Options& options,
                  const BinnedData& data, const char* phase, ThreadTeam& team, RunContext& context,
                  std::span<const std::string> names = {});
    ~FoldTrainings();

    // Grows them until the mean over the folds of what early stopping goes by (LogEntry::value) makes no progress, and
    // returns how many iterations have the best mean. To be called once.
    size_t best_iterations(const FoldStopping& stopping);
    // Grows all trees.
    void grow_all();
    // Returns how many iterations all have been compared at.
    size_t compared() const { return compared_; }

    size_t size() const { return members_.size(); }
    // Of the training without this fold.
    const Model& model(size_t fold) const;
    double seconds(size_t fold) const;
    // Returns the model whose predictions are the mean of theirs after so many iterations. rows: that any was trained
    // on.
    Model mean(size_t iterations, uint64_t rows) const;

  private:
    class Growth;
    struct Member;

    bool is_better(double value, double than) const;

    const char* const phase_;
    const size_t most_; // iterations
    const std::optional<HoldoutMetric> metric_;
    ThreadTeam& team_;
    RunContext& context_;
    const std::span<const std::string> names_;
    std::atomic<bool> stopped_{false};             // told to stop, or failed
    std::vector<std::unique_ptr<Member>> members_; // by fold
    size_t compared_ = 0;
};

// Returns the trees of the first iterations of a model with one score.
inline std::span<const Tree> first_trees(const Model& model, size_t iterations) {
    return std::span(model.trees).first(std::min(iterations, model.trees.size()));
}

// Runs what trains and scores a fold, which the DETAIL of errors then names.
template <class Body>
auto in_fold(const std::string& name, const Body& body) {
    try {
        return body();
    } catch (const Error& error) {
        if (error.code() == ErrorCode::memory_limit) throw;
        const std::string detail = error.detail().empty() ? "" : error.detail() + " ";
        throw Error(error.code(), error.message(), detail + format("It was fold \"%s\".", name.c_str()), error.hint());
    }
}

} // namespace btml::boosting
