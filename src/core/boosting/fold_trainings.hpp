// Trainings that grow side by side over the same bins, each without a fold of the rows, which says how good it is.
#pragma once

#include "core/boosting/booster.hpp"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

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
    size_t best_iterations(FoldStopping stopping);
    // Grows all trees.
    void grow_all();
    // Returns how many iterations all have been compared at.
    size_t compared() const { return next_ - 1; }

    size_t size() const { return members_.size(); }
    // Return the model of the training without this fold, and the seconds that it took.
    const Model& model(size_t fold) const;
    double seconds(size_t fold) const;
    // Returns the model whose predictions are the mean of theirs after so many iterations. rows: that any was trained
    // on.
    Model mean(size_t iterations, uint64_t rows) const;

  private:
    struct Member;

    // Grows what there is to grow, beside other threads. worker: 0 is the main thread.
    void run(int worker);
    // Serves the main thread while others grow.
    void poll();
    // Returns the training that is furthest behind of those that wait; null once there is nothing to do.
    Member* take(bool is_main);
    void give_back(Member& member);
    void stop();
    // Iterations that are wanted whatever comes.
    size_t wanted() const { return std::min(most_, progressed_ + stopping_.patience); }
    // Returns the mean of the folds' values after so many iterations; none where a fold has not come so far.
    std::optional<double> mean_value(size_t iterations) const;
    bool is_better(double value, double than) const;
    // Looks at the iterations that all folds have: what it finds is the same whichever thread is faster.
    void compare();

    const char* const phase_;
    const size_t most_; // iterations
    const std::optional<HoldoutMetric> metric_;
    ThreadTeam& team_;
    RunContext& context_;
    std::atomic<bool> stopped_{false};             // told to stop, or failed
    std::atomic<bool> has_failed_{false};          // other than by being cancelled
    std::vector<std::unique_ptr<Member>> members_; // by fold
    FoldStopping stopping_{};
    std::mutex mutex_; // of what follows, and of which trainings grow
    std::condition_variable changed_;
    std::atomic<size_t> next_{0}; // iterations to be compared; progress shows it
    size_t best_ = 0, progressed_ = 0;
    double best_mean_ = 0, reference_ = 0;
    bool is_done_ = false;
};

// Returns the trees of the first iterations of a model with one score.
inline std::span<const Tree> first_trees(const Model& model, size_t iterations) {
    return std::span(model.trees).first(std::min(iterations, model.trees.size()));
}

// Runs what trains and scores a fold, which the DETAIL of errors then names, if it has a name.
template <class Body>
auto in_fold(const std::string& name, const Body& body) {
    try {
        return body();
    } catch (const Error& error) {
        if (name.empty() || error.code() == ErrorCode::memory_limit) throw;
        const std::string detail = error.detail().empty() ? "" : error.detail() + " ";
        throw Error(error.code(), error.message(), detail + format("It was fold \"%s\".", name.c_str()), error.hint());
    }
}

} // namespace btml::boosting
