#include "core/gp/sparse/sparse_training.hpp"

#include "core/gp/sparse/collapsed.hpp"
#include "core/gp/sparse/inducing_rows.hpp"
#include "core/gp/sparse/likelihood_search.hpp"
#include "core/gp/sparse/sparse_predictor.hpp"

#include <algorithm>
#include <cmath>

namespace btml::gp {

namespace {

constexpr const char* what_inducing = "the inducing points of a Gaussian process";
constexpr size_t max_scored_rows = 50'000;

// Fewer would see too little of what the inducing points explain.
size_t rows_of_move(size_t inducing_points) {
    return std::max<size_t>(2'000, 2 * inducing_points);
}

// Within limits, so many see each row sixteen times.
int moves_of(size_t rows, size_t inducing_points) {
    constexpr size_t looks = 16, min_moves = 100, max_moves = 200;
    return static_cast<int>(std::clamp(looks * rows / rows_of_move(inducing_points), min_moves, max_moves));
}

size_t candidates_of(size_t inducing_points) {
    return std::max<size_t>(4'000, 4 * inducing_points);
}

class SparseTrainer {
  public:
    SparseTrainer(const TrainingColumns& columns, const std::vector<Feature>& features, const SparseTraining& training,
                  RunContext& context)
        : training_(training),
          context_(context),
          team_(context),
          coordinates_(columns, features, context),
          rows_(coordinates_, columns),
          given_{training.signal, training.noise} {
        if (coordinates_.width() == 0)
            throw Error(ErrorCode::invalid_argument, "no feature varies",
                        "A smooth kernel compares rows by features that differ.", "Use kernel => 'tree'.");
        kernel_.kind = training.kernel;
        kernel_.inverse_lengths.assign(coordinates_.numbers(), 1 / std::sqrt(coordinates_.width()));
        kernel_.penalties.assign(coordinates_.width() - coordinates_.numbers(), 0.5);
    }

    // What is likelier of the rows that moves look at may predict others worse: who moves compares.
    TrainedSparse train() {
        evaluations_ = static_cast<uint64_t>(learn_kernel(kernel_, rows_, given_, training_.seed, team_, context_));
        context_.note(format("noise %.4g, signal %.4g", kernel_.noise, kernel_.signal));
        Buffer<double> inducing = training_.given.empty() ? choose_inducing() : given_inducing();
        TrainedSparse chosen = fit(inducing.span());
        const bool are_all = inducing.size() >= rows_.size() * rows_.width;
        const bool stays = !training_.moves_points || !training_.given.empty() || are_all;
        if (stays) return chosen;
        kernel_.noise = chosen.model.kernel().noise; // what the likelihood of few rows says may be far too little
        move_inducing(inducing);
        TrainedSparse moved = fit(inducing.span());
        chosen.evaluations = evaluations_;
        return moved.leave_one_out.mean_nll < chosen.leave_one_out.mean_nll ? std::move(moved) : std::move(chosen);
    }

  private:
    Buffer<double> choose_inducing() {
        const size_t count = training_.inducing_points;
        const std::vector<uint32_t> among = spread_rows(rows_.size(), candidates_of(count), training_.seed);
        return points_of(rows_, varied_rows(kernel_, rows_, among, count, team_, context_), context_.memory());
    }

    // Leaves out points that are like no row: they have nothing to do with any.
    Buffer<double> given_inducing() const {
        const size_t width = coordinates_.features();
        Buffer<double> inducing(context_.memory(), what_inducing);
        std::vector<double> point(coordinates_.width());
        for (size_t at = 0; at < training_.given.size(); at += width)
            if (coordinates_.find(training_.given.subspan(at, width), point.data()))
                for (const double x : point) inducing.push_back(x);
        if (inducing.size() == 0) throw Error(ErrorCode::invalid_argument, "no exemplar is like any row");
        return inducing;
    }

    void move_inducing(Buffer<double>& inducing) {
        const int moves = moves_of(rows_.size(), training_.inducing_points);
        const PointSearch search{moves, rows_of_move(training_.inducing_points), training_.seed};
        move_points(kernel_, inducing, rows_, given_, search, team_, context_);
        evaluations_ += static_cast<uint64_t>(moves);
        context_.note(format("noise %.4g, signal %.4g after %d moves of the inducing points", kernel_.noise,
                             kernel_.signal, moves));
    }

    // Reads all rows.
    TrainedSparse fit(std::span<const double> inducing) {
        const double min = min_noise();
        if (training_.noise && *training_.noise < min)
            throw Error(ErrorCode::invalid_argument,
                        format("noise %s is below %s, the least that this kernel can be solved with",
                               shortest(*training_.noise).c_str(), shortest(min).c_str()),
                        "", "Give a larger noise or a smaller signal, or leave noise to be learned.");
        if (!training_.noise) kernel_.noise = std::max(kernel_.noise, min_learned_noise());
        SparseModel::Parts parts{coordinates_,
                                 kernel_,
                                 copy_of(inducing),
                                 Buffer<double>(context_.memory(), what_inducing),
                                 Buffer<double>(context_.memory(), what_inducing),
                                 std::nullopt};
        Collapsed collapsed(kernel_, inducing, rows_, team_, context_);
        if (training_.noise)
            take_posterior(collapsed, *training_.noise, parts);
        else
            choose_noise(collapsed, min_learned_noise(), parts);
        return scored(std::move(parts), collapsed.inverse(), rows_);
    }

    // What the inducing points' jitter and rounding leave is taken for noise, which has to be more.
    double min_noise() const { return kernel_.signal * (min_noise_share + 1e-14 * static_cast<double>(rows_.size())); }
    // Many functions meet a few rows exactly, so that their likelihood says little of the noise.
    double min_learned_noise() const {
        const double n = static_cast<double>(rows_.size());
        return std::max(min_noise(), 1 / (n * n));
    }

    double left_out_nll(const SparseModel::Parts& parts, const Collapsed& collapsed, const SmoothRows& rows) {
        return left_out_score(leave_rows_out(parts, collapsed.inverse(), rows, team_, context_), context_).mean_nll;
    }

    // A golden-section search of the logarithm, from max_fall below that of the kernel's noise on.
    template <class NllAt>
    double best_noise(double min_noise, double max_fall, const NllAt& nll_at) const {
        constexpr double ratio = 0.6180339887498949;
        constexpr int steps = 10;
        const auto at = [&](double logarithm) { return nll_at(std::exp(logarithm)); };
        double low = std::max(std::log(min_noise), std::log(kernel_.noise) - max_fall),
               high = std::max(std::log(kernel_.noise) + 3, std::log(0.5));
        double left = high - ratio * (high - low), right = low + ratio * (high - low);
        double at_left = at(left), at_right = at(right);
        for (int step = 0; step < steps; step++) {
            if (at_left < at_right) {
                high = std::exchange(right, left);
                at_right = at_left;
                at_left = at(left = high - ratio * (high - low));
            } else {
                low = std::exchange(left, right);
                at_left = at_right;
                at_right = at(right = low + ratio * (high - low));
            }
        }
        return std::exp(at_left < at_right ? left : right);
    }

    // Few inducing points explain less than the gp would, and the bound takes the rest for noise twice: it is chosen
    // by what rows say of others.
    void choose_noise(Collapsed& collapsed, double min_noise, SparseModel::Parts& parts) {
        const RowSubset some(rows_, spread_rows(rows_.size(), 2'000, training_.seed), context_.memory());
        const double noise = best_noise(min_noise, 1, [&](double at) {
            take_posterior(collapsed, at, parts);
            return left_out_nll(parts, collapsed, some.rows());
        });
        take_posterior(collapsed, noise, parts);
    }

    void take_posterior(Collapsed& collapsed, double noise, SparseModel::Parts& parts) {
        parts.kernel.noise = noise;
        collapsed.set_noise(noise);
        parts.log_likelihood = collapsed.bound();
        parts.solution = copy_of(collapsed.solution());
        parts.reduction = collapsed.reduction();
    }

    // Leaves rows out of what the inverse is of.
    TrainedSparse scored(SparseModel::Parts parts, const Buffer<double>& inverse, const SmoothRows& rows) {
        const RowSubset some(rows, spread_rows(rows.size(), max_scored_rows, training_.seed), context_.memory());
        uncertainty::StandardisedErrors left_out = leave_rows_out(parts, inverse, some.rows(), team_, context_);
        const LeaveOneOut score = left_out_score(left_out, context_);
        return {SparseModel(std::move(parts), context_), score, std::move(left_out), evaluations_};
    }

    Buffer<double> copy_of(std::span<const double> numbers) const {
        Buffer<double> copy(context_.memory(), what_inducing, numbers.size());
        std::copy(numbers.begin(), numbers.end(), copy.begin());
        return copy;
    }

    const SparseTraining& training_;
    RunContext& context_;
    ThreadTeam team_;
    const Coordinates coordinates_;
    const SmoothRows rows_;
    const GivenParameters given_;
    SmoothKernel kernel_;
    uint64_t evaluations_ = 0;
};

} // namespace

TrainedSparse train_sparse(const TrainingColumns& rows, const std::vector<Feature>& features,
                           const SparseTraining& training, RunContext& context) {
    return SparseTrainer(rows, features, training, context).train();
}

std::vector<uint32_t> rows_of_errors(size_t rows, size_t errors, uint64_t seed) {
    return spread_rows(rows, errors, seed);
}

uint64_t sparse_training_bytes(size_t rows, size_t features, size_t inducing_points) {
    const uint64_t width = 2 * features, k = inducing_points, learned = std::min<size_t>(rows, 1'000);
    const uint64_t square = k * k, slab = CovarianceSlab::bytes(k, width) / sizeof(double);
    const uint64_t slab_to_learn = CovarianceSlab::bytes(learned, width) / sizeof(double);
    const uint64_t learning = 2 * learned * learned + 2 * slab_to_learn;
    const uint64_t choosing = std::min(rows, candidates_of(k)) * (k + 2 * width + 2);
    const uint64_t scoring = 6 * square + 3 * slab + std::min(rows, max_scored_rows) * (width + 4);
    const uint64_t moving = 6 * square + 2 * slab + 12 * k * width + std::min(rows, rows_of_move(k)) * (width + 3);
    return sizeof(double) * std::max({learning, choosing, moving, scoring});
}

} // namespace btml::gp
