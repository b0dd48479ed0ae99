#include "core/boosting/fold_trainings.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace btml::boosting {

namespace {

constexpr std::chrono::milliseconds between_polls{10};

// Serves a training that one thread grows now and another one next. Only the main thread asks the outer context.
class TrainingContext : public RunContext {
  public:
    TrainingContext(RunContext& outer, int threads, std::atomic<bool>& stopped)
        : RunContext(outer.memory(), threads), outer_(outer), stopped_(stopped) {}
    bool keep_going() override {
        if (std::this_thread::get_id() == main_ && !outer_.keep_going()) stopped_ = true;
        return !stopped_;
    }
    void progress(const char*, uint64_t, uint64_t) override {}
    void note(std::string_view) override {}

  private:
    RunContext& outer_;
    std::atomic<bool>& stopped_;
    const std::thread::id main_ = std::this_thread::get_id();
};

} // namespace

struct FoldTrainings::Member {
    TrainingContext context;
    ThreadTeam team;
    Training training;

    Member(RunContext& outer, int threads, std::atomic<bool>& stopped, Dataset rows, const BinnedData& data,
           const Options& options, const char* phase, size_t parallel)
        : context(outer, threads, stopped),
          team(context),
          training(std::move(rows), data, options, team, context, phase, static_cast<int>(parallel)) {}
};

// Which training grows next, and whether the folds want more: known to all threads, and the same whichever is faster.
class FoldTrainings::Growth {
  public:
    Growth(FoldTrainings& of, size_t most, size_t patience, double min_progress)
        : of_(of), most_(most), patience_(patience), min_progress_(min_progress), folds_(of.members_.size()) {
        for (size_t f = 0; f < folds_.size(); f++)
            folds_[f].losses.push_back(*of_.members_[f]->training.model().baseline->holdout_loss);
        compare();
    }

    size_t best() const { return best_; }

    // Grows what there is to grow, beside other threads. worker: 0 is the main thread.
    void run(int worker) {
        try {
            while (const std::optional<size_t> fold = take(worker == 0)) {
                Training& training = of_.members_[*fold]->training;
                training.grow(training.log().size() + 1);
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
        of_.context_.share_progress(of_.phase_, compared_, most_);
        if (of_.context_.keep_going()) return;
        stop();
        throw Cancelled{};
    }

  private:
    struct Fold {
        std::vector<double> losses; // by iteration from 0
        bool is_growing = false, has_ended = false;
    };

    // Iterations that are wanted whatever comes.
    size_t wanted() const { return std::min(most_, progressed_ + patience_); }

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
                if (fold.is_growing || fold.has_ended || fold.losses.size() > wanted()) continue;
                if (!next || fold.losses.size() < folds_[*next].losses.size()) next = f;
            }
            if (next) {
                folds_[*next].is_growing = true;
                return next;
            }
            changed_.wait_for(lock, between_polls);
        }
    }

    void give_back(size_t number) {
        const std::vector<LogEntry>& log = of_.members_[number]->training.log();
        const std::lock_guard lock(mutex_);
        Fold& fold = folds_[number];
        fold.is_growing = false;
        fold.has_ended = log.size() < fold.losses.size(); // nothing is left to learn
        if (!fold.has_ended) fold.losses.push_back(*log.back().holdout_loss);
        compare();
        changed_.notify_all();
    }

    void stop() {
        of_.stopped_ = true;
        const std::lock_guard lock(mutex_);
        changed_.notify_all();
    }

    // Looks at the iterations that all folds have.
    void compare() {
        const auto have = [&](size_t iterations) {
            return std::all_of(folds_.begin(), folds_.end(),
                               [&](const Fold& fold) { return fold.losses.size() > iterations; });
        };
        for (; compared_ <= wanted() && have(compared_); compared_++) {
            double loss = 0;
            for (size_t f = 0; f < folds_.size(); f++)
                loss += static_cast<double>(of_.folds_.rows(f).rows().size()) * folds_[f].losses[compared_];
            if (!(loss < least_)) continue;
            least_ = loss;
            best_ = compared_;
            if (least_ > reference_ * (1 - min_progress_)) continue;
            reference_ = least_;
            progressed_ = compared_;
        }
        is_done_ = compared_ > wanted() || std::any_of(folds_.begin(), folds_.end(), [&](const Fold& fold) {
                       return fold.has_ended && fold.losses.size() <= compared_;
                   });
    }

    FoldTrainings& of_;
    const size_t most_, patience_;
    const double min_progress_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Fold> folds_;
    size_t best_ = 0, progressed_ = 0;
    std::atomic<size_t> compared_{0}; // iterations; progress shows it
    double least_ = std::numeric_limits<double>::infinity(), reference_ = least_;
    bool is_done_ = false;
    std::atomic<bool> has_failed_{false}; // other than by being cancelled
};

FoldTrainings::FoldTrainings(const CrossFitting& folds, const std::function<Dataset(size_t)>& without,
                             const Options& options, const BinnedData& data, const char* phase, ThreadTeam& team,
                             RunContext& context)
    : folds_(folds), phase_(phase), team_(team), context_(context) {
    const auto count = static_cast<int>(folds.folds()), threads = team.size(), side_by_side = std::min(count, threads);
    for (int fold = 0; fold < count; fold++)
        members_.push_back(std::make_unique<Member>(
            context, threads / side_by_side + (fold < threads % side_by_side ? 1 : 0), stopped_, without(fold), data,
            options, phase, folds.folds() - static_cast<size_t>(fold)));
}

FoldTrainings::~FoldTrainings() = default;

size_t FoldTrainings::best_iterations(size_t most, size_t patience, double min_progress) {
    Growth growth(*this, most, patience, min_progress);
    const size_t side_by_side = std::min(members_.size(), static_cast<size_t>(team_.size()));
    team_.for_each(
        side_by_side, [&](size_t, int worker) { growth.run(worker); }, [&] { growth.poll(); });
    return growth.best();
}

// A mean takes its share of each training's leaves, and of what splits gained a row.
Model FoldTrainings::mean(size_t iterations) const {
    Model mean = model(0);
    mean.trees.clear();
    mean.log.clear();
    mean.baseline.reset();
    mean.bases = {0};
    mean.rows = mean.holdout_rows = 0;
    for (const TargetRows& part : folds_.parts()) mean.rows += part.rows().size();
    const double share = 1 / static_cast<double>(folds_.folds());
    for (size_t f = 0; f < folds_.folds(); f++) {
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

} // namespace btml::boosting
