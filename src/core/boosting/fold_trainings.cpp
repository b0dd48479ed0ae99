#include "core/boosting/fold_trainings.hpp"

#include "core/base/worker_contexts.hpp"
#include "core/boosting/objectives/holdout_metric.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace btml::boosting {

namespace {

constexpr std::chrono::milliseconds between_polls{10};

} // namespace

// A training that one thread grows now and another one next.
struct FoldTrainings::Member {
    WorkerContext context;
    ThreadTeam team;
    Training training;
    double seconds = 0;

    Member(FoldTrainings& of, int threads, Dataset rows, const BinnedData& data, const Options& options,
           size_t parallel)
        : context(&of.context_, of.stopped_, of.context_.memory(), threads),
          team(context),
          training(std::move(rows), data, options, team, context, of.phase_, static_cast<int>(parallel)) {}
};

// Which training grows next, and whether the folds want more: known to all threads, and the same whichever is faster.
class FoldTrainings::Growth {
  public:
    Growth(FoldTrainings& of, const FoldStopping& stopping)
        : of_(of),
          stopping_(stopping),
          all_weights_(std::accumulate(stopping.weights.begin(), stopping.weights.end(), 0.0)),
          folds_(of.members_.size()),
          best_(stopping.first),
          progressed_(stopping.first),
          next_(stopping.first) {
        for (size_t f = 0; f < folds_.size(); f++)
            folds_[f].values.push_back(of_.members_[f]->training.model().baseline->value());
        compare();
    }

    size_t best() const { return best_; }
    size_t compared() const { return next_ - 1; }

    // Grows what there is to grow, beside other threads. worker: 0 is the main thread.
    void run(int worker) {
        try {
            while (const std::optional<size_t> fold = take(worker == 0)) {
                grow(*fold);
                give_back(*fold);
            }
        } catch (const Cancelled&) {
            stop();
            if (worker == 0 && !has_failed_) throw;
        } catch (...) {
            has_failed_ = true;
            stop();
            throw;
        }
    }

    // By the main thread, while others grow.
    void poll() {
        of_.context_.share_progress(of_.phase_, next_, of_.most_);
        if (of_.context_.keep_going()) return;
        stop();
        throw Cancelled{};
    }

  private:
    struct Fold {
        std::vector<double> values; // by iteration from 0
        bool is_growing = false;
    };

    // Iterations that are wanted whatever comes.
    size_t wanted() const { return std::min(of_.most_, progressed_ + stopping_.patience); }

    void grow(size_t number) {
        Member& member = *of_.members_[number];
        const Stopwatch watch(member.seconds);
        const auto grow = [&] { member.training.grow(folds_[number].values.size()); };
        of_.names_.empty() ? grow() : in_fold(of_.names_[number], grow);
    }

    // Returns the fold of the training that is furthest behind, of those that wait; none once there is nothing to do.
    std::optional<size_t> take(bool is_main) {
        std::unique_lock lock(mutex_);
        for (;;) {
            if (is_main) {
                lock.unlock();
                poll();
                lock.lock();
            }
            if (of_.stopped_ || is_done_) return std::nullopt;
            std::optional<size_t> next;
            for (size_t f = 0; f < folds_.size(); f++) {
                const Fold& fold = folds_[f];
                if (fold.is_growing || fold.values.size() > wanted()) continue;
                if (!next || fold.values.size() < folds_[*next].values.size()) next = f;
            }
            if (next) {
                folds_[*next].is_growing = true;
                return next;
            }
            changed_.wait_for(lock, between_polls);
        }
    }

    void give_back(size_t number) {
        const std::lock_guard lock(mutex_);
        Fold& fold = folds_[number];
        fold.is_growing = false;
        fold.values.push_back(of_.members_[number]->training.log()[fold.values.size() - 1].value());
        compare();
        changed_.notify_all();
    }

    void stop() {
        of_.stopped_ = true;
        const std::lock_guard lock(mutex_);
        changed_.notify_all();
    }

    // Returns the mean of the folds' values after so many iterations; none where a fold has not come so far.
    std::optional<double> mean_of(size_t iterations) const {
        double sum = 0;
        for (size_t f = 0; f < folds_.size(); f++) {
            if (folds_[f].values.size() <= iterations) return std::nullopt;
            sum += (stopping_.weights.empty() ? 1 : stopping_.weights[f]) * folds_[f].values[iterations];
        }
        return sum / (stopping_.weights.empty() ? static_cast<double>(folds_.size()) : all_weights_);
    }

    // Looks at the iterations that all folds have.
    void compare() {
        for (; next_ <= wanted(); next_++) {
            const std::optional<double> mean = mean_of(next_);
            if (!mean) break;
            if (next_ > stopping_.first && !of_.is_better(*mean, best_mean_)) continue;
            best_mean_ = *mean;
            best_ = next_;
            const bool progresses = stopping_.min_progress == 0 || next_ == stopping_.first ||
                                    best_mean_ <= reference_ * (1 - stopping_.min_progress);
            if (!progresses) continue;
            reference_ = best_mean_;
            progressed_ = next_;
        }
        is_done_ = next_ > wanted();
    }

    FoldTrainings& of_;
    const FoldStopping& stopping_;
    const double all_weights_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Fold> folds_;
    size_t best_, progressed_;
    std::atomic<size_t> next_; // to be compared; progress shows it
    double best_mean_ = 0, reference_ = 0;
    bool is_done_ = false;
    std::atomic<bool> has_failed_{false}; // other than by being cancelled
};

FoldTrainings::FoldTrainings(size_t folds, const std::function<Dataset(size_t)>& without, const Options& options,
                             const BinnedData& data, const char* phase, ThreadTeam& team, RunContext& context,
                             std::span<const std::string> names)
    : phase_(phase),
      most_(static_cast<size_t>(options.trees)),
      metric_(options.metric),
      team_(team),
      context_(context),
      names_(names) {
    const auto threads = static_cast<size_t>(team.size()), side_by_side = std::min(folds, threads);
    for (size_t fold = 0; fold < folds; fold++) {
        const size_t own_threads = threads / side_by_side + (fold < threads % side_by_side);
        double seconds = 0;
        const auto start = [&] {
            const Stopwatch watch(seconds);
            members_.push_back(std::make_unique<Member>(*this, static_cast<int>(own_threads), without(fold), data,
                                                        options, folds - fold));
        };
        names.empty() ? start() : in_fold(names[fold], start);
        members_.back()->seconds = seconds;
    }
}

FoldTrainings::~FoldTrainings() = default;

bool FoldTrainings::is_better(double value, double than) const {
    return metric_ ? boosting::is_better(*metric_, value, than) : value < than;
}

size_t FoldTrainings::best_iterations(const FoldStopping& stopping) {
    Growth growth(*this, stopping);
    const size_t side_by_side = std::min(members_.size(), static_cast<size_t>(team_.size()));
    team_.for_each(
        side_by_side, [&](size_t, int worker) { growth.run(worker); }, [&] { growth.poll(); });
    compared_ = growth.compared();
    return growth.best();
}

void FoldTrainings::grow_all() {
    best_iterations({.patience = most_});
}

// A mean takes its share of each training's leaves, and of what splits gained a row.
Model FoldTrainings::mean(size_t iterations, uint64_t rows) const {
    Model mean = model(0);
    mean.trees.clear();
    mean.log.clear();
    mean.baseline.reset();
    mean.bases = {0};
    mean.rows = rows;
    mean.holdout_rows = 0;
    const double share = 1 / static_cast<double>(size());
    for (size_t f = 0; f < size(); f++) {
        const Model& one = model(f);
        const double of_gain = share * static_cast<double>(mean.rows) / static_cast<double>(one.rows);
        mean.bases[0] += share * one.bases[0];
        for (Tree tree : first_trees(one, iterations)) {
            for (Node& node : tree) {
                node.value *= share;
                node.gain *= of_gain;
            }
            mean.trees.push_back(std::move(tree));
        }
    }
    mean.options.trees = std::max(1, static_cast<int>(mean.trees.size()));
    return mean;
}

const Model& FoldTrainings::model(size_t fold) const {
    return members_[fold]->training.model();
}

double FoldTrainings::seconds(size_t fold) const {
    return members_[fold]->seconds;
}

} // namespace btml::boosting
