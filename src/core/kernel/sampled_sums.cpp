#include "core/kernel/pilot.hpp"

#include "core/numbers/rng.hpp"

#include <algorithm>
#include <cmath>

namespace btml::kernel {

namespace {

constexpr double first_share = 0.2;  // of the sample expected to be needed: the first one, which sizes the next
constexpr double max_fraction = 0.5; // a group that needs more of the keys is summed exactly
constexpr double size_margin = 1.1;  // on what the variances seen so far ask for
constexpr double min_growth = 0.15;  // of a further sample, against the one before
constexpr int max_samples = 12;
constexpr uint64_t stream_of_samples = 0x5a3b1e; // seeds next to each other share no sample
constexpr size_t cached_chunk_bytes = size_t{1} << 19;

struct Worker {
    explicit Worker(const SampleTask& task)
        : group(task.keys.distinct.frame, task.estimand.columns() + task.estimand.squares(), task.context.memory()),
          distances(task.keys.tree.leaves()),
          squares(task.keys.tree.leaves()),
          near(task.keys.tree.leaves()) {}

    QueryGroup group;
    std::vector<double> distances, squares; // by leaf
    std::vector<uint8_t> near;              // by leaf
    std::vector<float> mask;                // by key of a sample: 1 where its leaf is not near
    std::vector<double> rows;               // of a group's queries: sums, then squares
    double near_pairs = 0;                  // evaluated
};

class Sampler {
  public:
    Sampler(const SampleTask& task, const Plan& plan)
        : task_(task),
          plan_(plan),
          columns_(task.estimand.columns()),
          squares_(task.estimand.squares()),
          leaf_bytes_((task.keys.tree.leaves() + 7) / 8),
          squares_of_leaves_(squares_of_leaves()),
          near_leaves_(task.context.memory(), "leaves near groups of queries", task.groups.groups() * leaf_bytes_,
                       uint8_t{0}),
          foreseen_(task.context.memory(), "variances of groups of queries", task.groups.groups() * squares_, 0.0),
          near_(task.context.memory(), "sums of queries", task.queries.rows() * columns_, 0.0),
          sums_(task.context.memory(), "sums of queries", task.queries.rows() * columns_, 0.0),
          variances_(task.context.memory(), "variances of queries' sums", task.queries.rows() * squares_, 0.0),
          fractions_(task.groups.groups(), 0.0) {
        for (int i = 0; i < task.team.size(); i++) workers_.emplace_back(task);
    }

    SampledSums run() {
        const size_t groups = task_.groups.groups();
        const bool samples = plan_.fraction < max_fraction;
        const double near = std::clamp(plan_.near_cost / plan_.cost, 0.0, 1.0),
                     first = samples ? near + (1 - near) * first_share / (1 + first_share) : near;
        {
            const Share share(task_.context, 0, near);
            sum_near();
        }
        std::fill(fractions_.begin(), fractions_.end(), std::max(first_share * plan_.fraction, plan_.least));
        if (samples) {
            const Share share(task_.context, near, first);
            draw(1, random_bits(task_.seed, stream_of_samples, 0));
            size_samples();
        } else {
            std::fill(fractions_.begin(), fractions_.end(), 1.0);
        }
        weight_ = 0; // the first sample's part is done: sizes that follow from its errors would bias its sums
        std::vector<size_t> exactly;
        double sampled = 0; // work, that of an exact group being 1
        for (size_t group = 0; group < groups; group++)
            if (fractions_[group] >= 1)
                exactly.push_back(group);
            else
                sampled += fractions_[group];
        const auto exact = static_cast<double>(exactly.size());
        const double begin = first + (1 - first) * exact / (exact + sampled);
        {
            const Share share(task_.context, first, begin);
            sum_exactly(exactly);
        }
        const Share share_of_samples(task_.context, begin, 1);
        double error = 0;
        if (exactly.size() < groups)
            for (int i = 1; i < max_samples; i++) {
                // The first is nearly always enough.
                const Share share_of_sample(task_.context, 1 - std::pow(0.1, i - 1), 1 - std::pow(0.1, i));
                const double share =
                    i == 1 ? 1 : std::max(min_growth, size_margin * (error / plan_.allowed - 1)) * weight_;
                if (i > 1) give_up(share);
                draw(share, random_bits(task_.seed, stream_of_samples, i));
                error = 0;
                for (size_t group = 0; group < groups; group++) error += error_of(group);
                if (error <= plan_.allowed) break;
            }
        Buffer<double> errors = errors_of_queries();
        for (size_t i = 0; i < sums_.size(); i++) sums_[i] += near_[i];
        for (const Worker& worker : workers_) evaluated_ += worker.near_pairs / task_.keys.rows();
        return {std::move(sums_), std::move(variances_), std::move(errors), error, evaluated_ / task_.queries.rows()};
    }

  private:
    // Over the near leaves, or over all.
    void add_leaves(size_t group, Worker& worker, bool all) {
        const std::span<const uint32_t> rows = task_.groups.rows(group);
        find_near(group, worker);
        if (all) std::fill(worker.near.begin(), worker.near.end(), uint8_t{1});
        for (size_t leaf = 0; leaf < worker.near.size(); leaf++)
            if (worker.near[leaf]) worker.near_pairs += static_cast<double>(rows.size() * task_.keys.blocks.keys(leaf));
        worker.group.load(task_.queries, rows);
        for (size_t tile = 0; tile < worker.group.tiles(); tile++)
            for (size_t leaf = 0; leaf < worker.near.size(); leaf++) {
                if (!worker.near[leaf]) continue;
                worker.group.evaluate(tile, task_.keys.blocks, leaf);
                worker.group.add(tile, leaf, task_.keys.values);
            }
        for (size_t i = 0; i < rows.size(); i++)
            for (size_t c = 0; c < columns_; c++) near_[rows[i] * columns_ + c] = worker.group.sum(i, c);
    }

    // Σ over a stratum of n keys from m of them: (n/m)·Σz, with variance n²/m·(1 − m/n) times the variance of z. Of
    // means, z is a difference from the mean and its own mean near 0.
    void sample(size_t group, const KeySample& keys, double fraction, Worker& worker, int thread) {
        const std::span<const uint32_t> rows = task_.groups.rows(group);
        find_near(group, worker);
        worker.group.load(task_.queries, rows);
        worker.rows.assign(rows.size() * (columns_ + squares_), 0.0);
        for (size_t stratum = 0; stratum < task_.strata.strata(); stratum++) {
            if (task_.strata.keys(stratum) == 0) continue;
            const size_t count = task_.strata.sampled(stratum, fraction);
            sample_stratum(stratum, count, keys, worker, thread);
            const double n = task_.strata.keys(stratum), m = count;
            const double scale = n / m, variance = n * (n - m) / (m * std::max(1.0, m - 1));
            for (size_t i = 0; i < rows.size(); i++) {
                double* const row = &worker.rows[i * (columns_ + squares_)];
                for (size_t c = 0; c < columns_; c++) row[c] += scale * worker.group.sum(i, c);
                for (size_t c = 0; c < squares_; c++) row[columns_ + c] += variance * worker.group.sum(i, columns_ + c);
                if (!task_.estimand.is_mean())
                    row[columns_] -= variance * worker.group.sum(i, 0) * worker.group.sum(i, 0) / m;
            }
        }
    }

    void sample_stratum(size_t stratum, size_t count, const KeySample& keys, Worker& worker, int thread) {
        const size_t first = keys.first_block(stratum), last = first + (count + block_keys - 1) / block_keys,
                     chunk = std::max<size_t>(1, cached_chunk_bytes /
                                                     (block_keys * sizeof(float) * task_.queries.dimensions()));
        worker.mask.resize((last - first) * block_keys);
        for (size_t block = first; block < last; block++)
            for (size_t i = 0; i < block_keys; i++)
                worker.mask[(block - first) * block_keys + i] = worker.near[keys.leaves(block)[i]] ? 0.0F : 1.0F;
        worker.group.clear_sums();
        for (size_t begin = first; begin < last; begin += chunk) {
            if (thread == 0) task_.context.poll();
            for (size_t tile = 0; tile < worker.group.tiles(); tile++)
                for (size_t block = begin; block < std::min(last, begin + chunk); block++) {
                    worker.group.evaluate(tile, keys.blocks(), block, count - (block - first) * block_keys);
                    worker.group.multiply(&worker.mask[(block - first) * block_keys]);
                    worker.group.add(tile, block, keys.values());
                    worker.group.square();
                    worker.group.add(tile, block, keys.squares(), columns_);
                }
        }
    }

    Buffer<double> squares_of_leaves() const {
        const size_t leaves = task_.keys.tree.leaves();
        Buffer<double> sums(task_.context.memory(), "squares of the keys' values", leaves * squares_, 0.0);
        for (size_t leaf = 0; leaf < leaves; leaf++)
            for (const uint32_t key : task_.keys.tree.keys(leaf))
                for (size_t c = 0; c < squares_; c++)
                    sums[leaf * squares_ + c] += task_.strata.inflation(key) * task_.estimand.square(key, c);
        return sums;
    }

    void choose_near() {
        task_.team.for_each(task_.groups.groups(), [&](size_t group, int thread) {
            Worker& worker = workers_[thread];
            task_.groups.look(group, task_.queries, worker.group, worker.distances, worker.squares);
            uint8_t* const near = &near_leaves_[group * leaf_bytes_];
            for (size_t leaf = 0; leaf < worker.near.size(); leaf++)
                if (worker.distances[leaf] <= plan_.near)
                    near[leaf / 8] |= static_cast<uint8_t>(1U << leaf % 8);
                else
                    for (size_t c = 0; c < squares_; c++)
                        foreseen_[group * squares_ + c] +=
                            worker.squares[leaf] * squares_of_leaves_[leaf * squares_ + c];
        });
    }

    bool is_near(size_t group, size_t leaf) const noexcept {
        return near_leaves_[group * leaf_bytes_ + leaf / 8] >> leaf % 8 & 1;
    }

    void find_near(size_t group, Worker& worker) const {
        for (size_t leaf = 0; leaf < worker.near.size(); leaf++) worker.near[leaf] = is_near(group, leaf);
    }

    // A further sample, `share` times the size of the first for every group that is not summed exactly.
    void draw(double share, uint64_t seed) {
        double most = 0;
        for (const double fraction : fractions_)
            if (fraction < 1) most = std::max(most, fraction);
        const KeySample keys(task_.keys, task_.estimand, task_.strata, most * share, seed, task_.team, task_.context);
        const double of_old = weight_ / (weight_ + share), of_new = share / (weight_ + share);
        task_.team.for_each(task_.groups.groups(), [&](size_t group, int thread) {
            show(thread, group, task_.groups.groups());
            if (fractions_[group] >= 1) return;
            Worker& worker = workers_[thread];
            sample(group, keys, fractions_[group] * share, worker, thread);
            const std::span<const uint32_t> rows = task_.groups.rows(group);
            for (size_t i = 0; i < rows.size(); i++) {
                const double* const row = &worker.rows[i * (columns_ + squares_)];
                double* const sums = &sums_[rows[i] * columns_];
                double* const variances = &variances_[rows[i] * squares_];
                for (size_t c = 0; c < columns_; c++) sums[c] = of_old * sums[c] + of_new * row[c];
                for (size_t c = 0; c < squares_; c++)
                    variances[c] = of_old * of_old * variances[c] + of_new * of_new * row[columns_ + c];
            }
        });
        for (size_t group = 0; group < task_.groups.groups(); group++)
            if (fractions_[group] < 1)
                evaluated_ += task_.groups.rows(group).size() * task_.strata.sampled_share(fractions_[group] * share);
        weight_ += share;
    }

    double fraction_of(size_t group) const {
        return std::min(1.0, weight_ * task_.strata.sampled_share(fractions_[group]));
    }

    // fraction: of the keys, in the samples so far.
    double error_of_query(uint32_t row, double fraction) const {
        std::vector<double> sums(columns_);
        for (size_t c = 0; c < columns_; c++) sums[c] = near_[row * columns_ + c] + sums_[row * columns_ + c];
        const double* const variances = &variances_[row * squares_];
        return std::max(task_.estimand.error(sums.data(), variances),
                        task_.estimand.error_of_hidden(sums[0], variances[0], fraction));
    }

    double error_of(size_t group) const {
        const double fraction = fraction_of(group);
        double error = 0;
        for (const uint32_t row : task_.groups.rows(group)) error += error_of_query(row, fraction);
        return error;
    }

    // Foresees the error of a query with the mean of the group's sums.
    double foreseen_error(size_t group, double fraction) const {
        std::vector<double> sums(columns_, 0.0);
        for (const uint32_t row : task_.groups.rows(group))
            for (size_t c = 0; c < columns_; c++)
                sums[c] += (near_[row * columns_ + c] + sums_[row * columns_ + c]) / task_.groups.rows(group).size();
        return (1 / fraction - 1) * task_.estimand.error(sums.data(), &foreseen_[group * squares_]);
    }

    // Few queries have a key in a small sample to speak of, and the others' own variance would be 0: at least what its
    // group has, or was to expect; of means, whose delta method knows no bound, not more than their targets vary.
    Buffer<double> errors_of_queries() const {
        Buffer<double> errors(task_.context.memory(), "errors of queries' sums", task_.queries.rows(), 0.0);
        for (size_t group = 0; group < task_.groups.groups(); group++) {
            if (fractions_[group] >= 1) continue;
            const double fraction = fraction_of(group), mean = error_of(group) / task_.groups.rows(group).size(),
                         foreseen = std::max(mean, foreseen_error(group, fraction)),
                         least = task_.estimand.is_mean() ? std::min(foreseen, task_.estimand.spread()) : foreseen;
            for (const uint32_t row : task_.groups.rows(group))
                errors[row] = std::max(error_of_query(row, fraction), least);
        }
        return errors;
    }

    // Chooses, from the errors of a first sample, fractions f with the least work that keep Σ error within what is
    // allowed, the error of a group being w·(1/f − 1): f ∝ √(w per query).
    void size_samples() {
        const size_t groups = task_.groups.groups();
        std::vector<double> per_query(groups);
        double total = 0;
        for (size_t group = 0; group < groups; group++) {
            const double f = task_.strata.sampled_share(fractions_[group]);
            per_query[group] = f < 1 ? error_of(group) / (1 / f - 1) : 0;
            total += per_query[group];
            per_query[group] /= static_cast<double>(task_.groups.rows(group).size());
        }
        // Part of what all groups have in common: what a group's first sample happened to miss.
        const double common = total / task_.queries.rows();
        for (double& w : per_query) w = 0.8 * w + 0.2 * common;
        const auto error_at = [&](double factor) {
            double error = 0;
            for (size_t group = 0; group < groups; group++) {
                const double f = factor * std::sqrt(per_query[group]);
                if (f < max_fraction && f > 0)
                    error += task_.groups.rows(group).size() * per_query[group] * (1 / f - 1);
            }
            return error;
        };
        double low = 1e-300, high = 1e300;
        for (int step = 0; step < 200; step++) {
            const double middle = std::sqrt(low) * std::sqrt(high);
            (size_margin * error_at(middle) > plan_.allowed ? low : high) = middle;
        }
        for (size_t group = 0; group < groups; group++) {
            const double f = high * std::sqrt(per_query[group]);
            fractions_[group] = f < max_fraction ? std::max(f, plan_.least) : 1;
        }
    }

    // Groups whose further sample would be more work than exact sums.
    void give_up(double share) {
        std::vector<size_t> exactly;
        for (size_t group = 0; group < task_.groups.groups(); group++)
            if (fractions_[group] < 1 && fractions_[group] * share >= max_fraction) {
                fractions_[group] = 1;
                exactly.push_back(group);
            }
        sum_exactly(exactly);
    }

    void sum_exactly(const std::vector<size_t>& groups) {
        task_.team.for_each(groups.size(), [&](size_t item, int thread) {
            show(thread, item, groups.size());
            add_leaves(groups[item], workers_[thread], true);
            for (const uint32_t row : task_.groups.rows(groups[item])) {
                std::fill_n(&sums_[row * columns_], columns_, 0.0);
                std::fill_n(&variances_[row * squares_], squares_, 0.0);
            }
        });
    }

    void sum_near() {
        const size_t groups = task_.groups.groups();
        choose_near();
        task_.team.for_each(groups, [&](size_t group, int thread) {
            show(thread, group, groups);
            add_leaves(group, workers_[thread], false);
        });
    }

    void show(int thread, size_t group, size_t groups) const {
        if (thread == 0) task_.context.share_progress("sums of a kernel", group, groups);
    }

    const SampleTask& task_;
    const Plan& plan_;
    const size_t columns_, squares_, leaf_bytes_;
    Buffer<double> squares_of_leaves_; // [leaf][square]: Σ over its keys, as a sample sees them
    Buffer<uint8_t> near_leaves_;      // by group, a bit for each leaf
    Buffer<double> foreseen_;          // [group][square]: the variance of a sample of 1 key in n, times 1/n, by a look
    Buffer<double> near_;              // [query][column]
    Buffer<double> sums_, variances_;  // of the rest, the mean over the samples so far, each as much as it is large
    std::vector<double> fractions_;    // of the keys, by group; 1: summed exactly
    double weight_ = 0;                // the samples so far, in sizes of the first
    double evaluated_ = 0;
    std::vector<Worker> workers_;
};

} // namespace

SampledSums sampled_sums(const SampleTask& task, const Plan& plan) {
    return Sampler(task, plan).run();
}

} // namespace btml::kernel
