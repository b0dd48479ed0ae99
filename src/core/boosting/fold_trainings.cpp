#include "core/boosting/fold_trainings.hpp"

#include "core/base/worker_contexts.hpp"
#include "core/boosting/objectives/holdout_metric.hpp"

#include <algorithm>
#include <optional>

namespace btml::boosting {

// A training that one thread grows now and another one next.
struct FoldTrainings::Member {
    WorkerContext context;
    ThreadTeam team;
    Training training;
    const std::string name;     // of the fold, in errors; may be empty
    std::vector<double> values; // by iteration from 0
    double seconds = 0;
    bool is_growing = false;

    Member(FoldTrainings& of, int threads, Dataset rows, const BinnedData& data, const Options& options,
           size_t parallel, std::string fold)
        : context(&of.context_, of.stopped_, of.context_.memory(), threads),
          team(context),
          training(std::move(rows), data, options, team, context, of.phase_, static_cast<int>(parallel)),
          name(std::move(fold)),
          values{training.model().baseline->value()} {}

    void grow() {
        const Stopwatch watch(seconds);
        in_fold(name, [&] { training.grow(values.size()); });
    }
};

FoldTrainings::FoldTrainings(size_t folds, const std::function<Dataset(size_t)>& without, const Options& options,
                             const BinnedData& data, const char* phase, ThreadTeam& team, RunContext& context,
                             std::span<const std::string> names)
    : phase_(phase),
      most_(static_cast<size_t>(options.trees)),
      metric_(options.metric),
      team_(team),
      context_(context) {
    const auto threads = static_cast<size_t>(team.size()), side_by_side = std::min(folds, threads);
    for (size_t fold = 0; fold < folds; fold++) {
        const size_t own_threads = threads / side_by_side + (fold < threads % side_by_side);
        const std::string name = names.empty() ? "" : names[fold];
        double seconds = 0;
        in_fold(name, [&] {
            const Stopwatch watch(seconds);
            members_.push_back(std::make_unique<Member>(*this, static_cast<int>(own_threads), without(fold), data,
                                                        options, folds - fold, name));
        });
        members_.back()->seconds = seconds;
    }
}

FoldTrainings::~FoldTrainings() = default;

bool FoldTrainings::is_better(double value, double than) const {
    return metric_ ? boosting::is_better(*metric_, value, than) : value < than;
}

size_t FoldTrainings::best_iterations(FoldStopping stopping) {
    stopping_ = std::move(stopping);
    best_ = progressed_ = next_ = stopping_.first;
    compare();
    const size_t side_by_side = std::min(members_.size(), static_cast<size_t>(team_.size()));
    team_.for_each(
        side_by_side, [&](size_t, int worker) { run(worker); }, [&] { poll(); });
    return best_;
}

void FoldTrainings::run(int worker) {
    try {
        while (Member* const member = take(worker == 0)) {
            member->grow();
            give_back(*member);
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

void FoldTrainings::poll() {
    context_.share_progress(phase_, next_, most_);
    if (context_.keep_going()) return;
    stop();
    throw Cancelled{};
}

FoldTrainings::Member* FoldTrainings::take(bool is_main) {
    static constexpr std::chrono::milliseconds between_polls{10};
    std::unique_lock lock(mutex_);
    for (;;) {
        if (is_main) {
            lock.unlock();
            poll();
            lock.lock();
        }
        if (stopped_ || is_done_) return nullptr;
        Member* next = nullptr;
        for (const auto& member : members_) {
            if (member->is_growing || member->values.size() > wanted()) continue;
            if (!next || member->values.size() < next->values.size()) next = member.get();
        }
        if (next) {
            next->is_growing = true;
            return next;
        }
        changed_.wait_for(lock, between_polls);
    }
}

void FoldTrainings::give_back(Member& member) {
    const std::lock_guard lock(mutex_);
    member.is_growing = false;
    member.values.push_back(member.training.log()[member.values.size() - 1].value());
    compare();
    changed_.notify_all();
}

void FoldTrainings::stop() {
    stopped_ = true;
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
}

std::optional<double> FoldTrainings::mean_value(size_t iterations) const {
    double sum = 0, weights = 0;
    for (size_t f = 0; f < members_.size(); f++) {
        if (members_[f]->values.size() <= iterations) return std::nullopt;
        const double weight = stopping_.weights.empty() ? 1 : stopping_.weights[f];
        sum += weight * members_[f]->values[iterations];
        weights += weight;
    }
    return sum / weights;
}

void FoldTrainings::compare() {
    for (; next_ <= wanted(); next_++) {
        const std::optional<double> mean = mean_value(next_);
        if (!mean) break;
        if (next_ > stopping_.first && !is_better(*mean, best_mean_)) continue;
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
