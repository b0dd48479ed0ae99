#include "core/kernel/sampled_sums.hpp"

#include "core/base/rng.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace btml::kernel {

namespace {

constexpr double first_share = 0.2;  // of the sample expected to be needed: the first one, which sizes the next
constexpr double max_fraction = 0.5; // a group that needs more of the keys is summed exactly
constexpr double size_margin = 1.1;  // on what the variances seen so far ask for
constexpr double min_growth = 0.15;  // of a further sample, against the one before
constexpr int max_samples = 12;
constexpr uint64_t stream_of_samples = 0x5a3b1e; // seeds next to each other share no sample
constexpr size_t cached_bytes = size_t{1} << 19;

struct Worker {
    Worker(const KeySet& keys, const Estimand& estimand, MemoryBudget& budget)
        : group(keys.distinct.frame, estimand.columns() + estimand.squares(), budget),
          queries(keys.distinct.frame, budget),
          distances(keys.tree.leaves()),
          squares(keys.tree.leaves()),
          near(keys.tree.leaves()) {}

    QueryGroup group;
    FramedQueries queries;
    std::vector<double> distances, squares; // by leaf
    std::vector<uint8_t> near;              // by leaf
    std::vector<uint32_t> marks;            // of a group's queries in the random trees: [tile][tree][query]
    std::vector<float> mask;                // by key of a sample: 1 where its leaf is not near
    std::vector<double> rows;               // of a group's queries: sums, then squares
    double near_pairs = 0;                  // evaluated
};

class Sampler {
  public:
    Sampler(const KeySet& keys, const Estimand& estimand, const KeyStrata& strata, const QueryGroups& groups,
            const Points& queries, const Plan& plan, ThreadTeam& team, RunContext& context)
        : keys_(keys),
          estimand_(estimand),
          strata_(strata),
          groups_(groups),
          queries_(queries),
          plan_(plan),
          team_(team),
          context_(context),
          columns_(estimand.columns()),
          squares_(estimand.squares()),
          trees_(plan.trees ? plan.trees->trees() : 0),
          leaf_bytes_((keys.tree.leaves() + 7) / 8),
          squares_of_leaves_(squares_of_leaves()),
          near_leaves_(context.memory(), "leaves near groups of queries", groups.groups() * leaf_bytes_, uint8_t{0}),
          foreseen_(context.memory(), "variances of groups of queries", groups.groups() * squares_, 0.0),
          near_(context.memory(), "sums of queries", queries.rows() * columns_, 0.0),
          sums_(context.memory(), "sums of queries", queries.rows() * columns_, 0.0),
          variances_(context.memory(), "variances of queries' sums", queries.rows() * squares_, 0.0),
          fractions_(groups.groups(), 0.0) {
        for (int i = 0; i < team.size(); i++)
            workers_.push_back(std::make_unique<Worker>(keys, estimand, context.memory()));
    }

    SampledSums run(uint64_t seed);

  private:
    void add_leaves(size_t group, Worker& worker, bool all);
    void sample(size_t group, const KeySample& keys, double fraction, Worker& worker, int thread);
    void sample_stratum(size_t stratum, size_t count, const KeySample& keys, Worker& worker, int thread);
    Buffer<double> squares_of_leaves() const;
    void choose_near();
    bool is_near(size_t group, size_t leaf) const noexcept {
        return near_leaves_[group * leaf_bytes_ + leaf / 8] >> leaf % 8 & 1;
    }
    void find_near(size_t group, Worker& worker) const;
    void find_marks(size_t group, Worker& worker) const;
    void add_pairs_of_trees();
    void draw(double share, uint64_t seed);
    double fraction_of(size_t group) const;
    double error_of_query(uint32_t row, double fraction) const;
    double error_of(size_t group) const;
    double foreseen_error(size_t group, double fraction) const;
    Buffer<double> errors_of_queries() const;
    void size_samples();
    void give_up(double share);
    void sum_exactly(const std::vector<size_t>& groups);

    const KeySet& keys_;
    const Estimand& estimand_;
    const KeyStrata& strata_;
    const QueryGroups& groups_;
    const Points& queries_;
    const Plan& plan_;
    ThreadTeam& team_;
    RunContext& context_;
    const size_t columns_, squares_, trees_, leaf_bytes_;
    Buffer<double> squares_of_leaves_; // [leaf][square]: Σ over its keys, as a sample sees them
    Buffer<uint8_t> near_leaves_;      // by group, a bit for each leaf
    Buffer<double> foreseen_;          // [group][square]: the variance of a sample of 1 key in n, times 1/n, by a look
    Buffer<double> near_;              // [query][column]
    Buffer<double> sums_, variances_;  // of the rest, the mean over the samples so far, each as much as it is large
    std::vector<double> fractions_;    // of the keys, by group; 1: summed exactly
    double weight_ = 0;                // the samples so far, in sizes of the first
    double evaluated_ = 0;
    std::vector<std::unique_ptr<Worker>> workers_;
};

Buffer<double> Sampler::squares_of_leaves() const {
    const size_t leaves = keys_.tree.leaves();
    Buffer<double> sums(context_.memory(), "squares of the keys' values", leaves * squares_, 0.0);
    for (size_t leaf = 0; leaf < leaves; leaf++)
        for (const uint32_t key : keys_.tree.keys(leaf))
            for (size_t c = 0; c < squares_; c++)
                sums[leaf * squares_ + c] += strata_.inflation(key) * estimand_.square(key, c);
    return sums;
}

void Sampler::choose_near() {
    team_.for_each(groups_.groups(), [&](size_t group, int thread) {
        Worker& worker = *workers_[static_cast<size_t>(thread)];
        groups_.look(group, queries_, worker.queries, worker.group, {worker.distances, worker.squares});
        uint8_t* const near = &near_leaves_[group * leaf_bytes_];
        for (size_t leaf = 0; leaf < worker.near.size(); leaf++)
            if (worker.distances[leaf] <= plan_.near)
                near[leaf / 8] |= static_cast<uint8_t>(1U << leaf % 8);
            else
                for (size_t c = 0; c < squares_; c++)
                    foreseen_[group * squares_ + c] += worker.squares[leaf] * squares_of_leaves_[leaf * squares_ + c];
    });
}

void Sampler::find_near(size_t group, Worker& worker) const {
    for (size_t leaf = 0; leaf < worker.near.size(); leaf++) worker.near[leaf] = is_near(group, leaf);
}

void Sampler::find_marks(size_t group, Worker& worker) const {
    const std::span<const uint32_t> rows = groups_.rows(group);
    worker.marks.assign(worker.group.tiles() * trees_ * tile_queries, 0);
    for (size_t i = 0; i < rows.size(); i++)
        for (size_t t = 0; t < trees_; t++)
            worker.marks[(i / tile_queries * trees_ + t) * tile_queries + i % tile_queries] =
                plan_.trees->of_query(t, rows[i]);
}

void Sampler::add_pairs_of_trees() {
    Buffer<uint32_t> group_of(context_.memory(), "groups of queries", queries_.rows());
    for (size_t group = 0; group < groups_.groups(); group++)
        for (const uint32_t row : groups_.rows(group)) group_of[row] = static_cast<uint32_t>(group);
    plan_.trees->add_sums([&](uint32_t query, uint32_t leaf) { return is_near(group_of[query], leaf); }, columns_,
                          near_.data(), team_, context_);
    evaluated_ +=
        static_cast<double>(queries_.rows() * trees_ * RandomTrees::leaf_keys) / static_cast<double>(keys_.rows());
}

// Over the near leaves, or over all.
void Sampler::add_leaves(size_t group, Worker& worker, bool all) {
    const std::span<const uint32_t> rows = groups_.rows(group);
    find_near(group, worker);
    if (all) std::fill(worker.near.begin(), worker.near.end(), uint8_t{1});
    for (size_t leaf = 0; leaf < worker.near.size(); leaf++)
        if (worker.near[leaf]) worker.near_pairs += static_cast<double>(rows.size() * keys_.blocks.keys(leaf));
    worker.group.load(worker.queries.load(queries_, rows));
    for (size_t tile = 0; tile < worker.group.tiles(); tile++)
        for (size_t leaf = 0; leaf < worker.near.size(); leaf++) {
            if (!worker.near[leaf]) continue;
            worker.group.evaluate(tile, keys_.blocks, leaf);
            worker.group.add(tile, leaf, keys_.values);
        }
    for (size_t i = 0; i < rows.size(); i++)
        for (size_t c = 0; c < columns_; c++) near_[rows[i] * columns_ + c] = worker.group.sum(i, c);
}

void Sampler::sample_stratum(size_t stratum, size_t count, const KeySample& keys, Worker& worker, int thread) {
    const size_t first = keys.first_block(stratum), last = first + (count + block_keys - 1) / block_keys,
                 chunk = std::max<size_t>(1, cached_bytes / (block_keys * sizeof(float) * queries_.dimensions()));
    worker.mask.resize((last - first) * block_keys);
    for (size_t block = first; block < last; block++)
        for (size_t i = 0; i < block_keys; i++)
            worker.mask[(block - first) * block_keys + i] = worker.near[keys.leaves(block)[i]] ? 0.0F : 1.0F;
    worker.group.clear_sums();
    for (size_t begin = first; begin < last; begin += chunk) {
        if (thread == 0) context_.poll();
        for (size_t tile = 0; tile < worker.group.tiles(); tile++)
            for (size_t block = begin; block < std::min(last, begin + chunk); block++) {
                worker.group.evaluate(tile, keys.blocks(), block, count - (block - first) * block_keys);
                for (size_t t = 0; t < trees_; t++)
                    worker.group.exclude(keys.marks(t, block), &worker.marks[(tile * trees_ + t) * tile_queries]);
                worker.group.multiply(&worker.mask[(block - first) * block_keys]);
                worker.group.add(tile, block, keys.values());
                worker.group.square();
                worker.group.add(tile, block, keys.squares(), columns_);
            }
    }
}

// Σ over a stratum of n keys from m of them: (n/m)·Σz, with variance n²/m·(1 − m/n) times the variance of z. Of means,
// z is a difference from the mean and its own mean near 0.
void Sampler::sample(size_t group, const KeySample& keys, double fraction, Worker& worker, int thread) {
    const std::span<const uint32_t> rows = groups_.rows(group);
    find_near(group, worker);
    worker.group.load(worker.queries.load(queries_, rows));
    if (trees_ > 0) find_marks(group, worker);
    worker.rows.assign(rows.size() * (columns_ + squares_), 0.0);
    for (size_t stratum = 0; stratum < strata_.strata(); stratum++) {
        if (strata_.keys(stratum) == 0) continue;
        const size_t count = strata_.sampled(stratum, fraction);
        sample_stratum(stratum, count, keys, worker, thread);
        const auto n = static_cast<double>(strata_.keys(stratum)), m = static_cast<double>(count);
        const double scale = n / m, variance = n * (n - m) / (m * std::max(1.0, m - 1));
        for (size_t i = 0; i < rows.size(); i++) {
            double* const row = &worker.rows[i * (columns_ + squares_)];
            for (size_t c = 0; c < columns_; c++) row[c] += scale * worker.group.sum(i, c);
            for (size_t c = 0; c < squares_; c++) row[columns_ + c] += variance * worker.group.sum(i, columns_ + c);
            if (!estimand_.is_mean()) row[columns_] -= variance * worker.group.sum(i, 0) * worker.group.sum(i, 0) / m;
        }
    }
}

// A further sample, `share` times the size of the first for every group that is not summed exactly.
void Sampler::draw(double share, uint64_t seed) {
    double most = 0;
    for (const double fraction : fractions_)
        if (fraction < 1) most = std::max(most, fraction);
    const KeySample keys(keys_, estimand_, strata_, plan_.trees.get(), most * share, seed, team_, context_);
    const double of_old = weight_ / (weight_ + share), of_new = share / (weight_ + share);
    team_.for_each(groups_.groups(), [&](size_t group, int thread) {
        if (fractions_[group] >= 1) return;
        Worker& worker = *workers_[static_cast<size_t>(thread)];
        sample(group, keys, fractions_[group] * share, worker, thread);
        const std::span<const uint32_t> rows = groups_.rows(group);
        for (size_t i = 0; i < rows.size(); i++) {
            const double* const row = &worker.rows[i * (columns_ + squares_)];
            double* const sums = &sums_[rows[i] * columns_];
            double* const variances = &variances_[rows[i] * squares_];
            for (size_t c = 0; c < columns_; c++) sums[c] = of_old * sums[c] + of_new * row[c];
            for (size_t c = 0; c < squares_; c++)
                variances[c] = of_old * of_old * variances[c] + of_new * of_new * row[columns_ + c];
        }
    });
    for (size_t group = 0; group < groups_.groups(); group++)
        if (fractions_[group] < 1)
            evaluated_ +=
                static_cast<double>(groups_.rows(group).size()) * strata_.sampled_share(fractions_[group] * share);
    weight_ += share;
}

// fraction: of the keys, in the samples so far.
double Sampler::error_of_query(uint32_t row, double fraction) const {
    std::vector<double> sums(columns_);
    for (size_t c = 0; c < columns_; c++) sums[c] = near_[row * columns_ + c] + sums_[row * columns_ + c];
    const double* const variances = &variances_[row * squares_];
    return std::max(estimand_.error(sums.data(), variances),
                    estimand_.error_of_hidden(sums[0], variances[0], fraction));
}

double Sampler::fraction_of(size_t group) const {
    return std::min(1.0, weight_ * strata_.sampled_share(fractions_[group]));
}

double Sampler::error_of(size_t group) const {
    const double fraction = fraction_of(group);
    double error = 0;
    for (const uint32_t row : groups_.rows(group)) error += error_of_query(row, fraction);
    return error;
}

// Few queries have a key in a small sample to speak of, and the others' own variance would be 0: at least what its
// group has, or was to expect; of means, whose delta method knows no bound, not more than their targets vary.
Buffer<double> Sampler::errors_of_queries() const {
    Buffer<double> errors(context_.memory(), "errors of queries' sums", queries_.rows(), 0.0);
    for (size_t group = 0; group < groups_.groups(); group++) {
        if (fractions_[group] >= 1) continue;
        const double fraction = fraction_of(group),
                     mean = error_of(group) / static_cast<double>(groups_.rows(group).size()),
                     foreseen = std::max(mean, foreseen_error(group, fraction)),
                     least = estimand_.is_mean() ? std::min(foreseen, estimand_.spread()) : foreseen;
        for (const uint32_t row : groups_.rows(group)) errors[row] = std::max(error_of_query(row, fraction), least);
    }
    return errors;
}

// Of a query with the mean of the group's sums.
double Sampler::foreseen_error(size_t group, double fraction) const {
    if (trees_ > 0) return 0; // which remove pairs that a look sees
    std::vector<double> sums(columns_, 0.0);
    for (const uint32_t row : groups_.rows(group))
        for (size_t c = 0; c < columns_; c++)
            sums[c] += (near_[row * columns_ + c] + sums_[row * columns_ + c]) /
                       static_cast<double>(groups_.rows(group).size());
    return (1 / fraction - 1) * estimand_.error(sums.data(), &foreseen_[group * squares_]);
}

// From the errors of a first sample: fractions f with the least work that keep Σ error within what is allowed, the
// error of a group being w·(1/f − 1): f ∝ √(w per query).
void Sampler::size_samples() {
    const size_t groups = groups_.groups();
    std::vector<double> per_query(groups);
    double total = 0;
    for (size_t group = 0; group < groups; group++) {
        const double f = strata_.sampled_share(fractions_[group]);
        per_query[group] = f < 1 ? error_of(group) / (1 / f - 1) : 0;
        total += per_query[group];
        per_query[group] /= static_cast<double>(groups_.rows(group).size());
    }
    // Part of what all groups have in common: what a group's first sample happened to miss.
    const double common = total / static_cast<double>(queries_.rows());
    for (double& w : per_query) w = 0.8 * w + 0.2 * common;
    const auto error_at = [&](double factor) {
        double error = 0;
        for (size_t group = 0; group < groups; group++) {
            const double f = factor * std::sqrt(per_query[group]);
            if (f < max_fraction && f > 0)
                error += static_cast<double>(groups_.rows(group).size()) * per_query[group] * (1 / f - 1);
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

void Sampler::sum_exactly(const std::vector<size_t>& groups) {
    team_.for_each(groups.size(), [&](size_t item, int thread) {
        add_leaves(groups[item], *workers_[static_cast<size_t>(thread)], true);
        for (const uint32_t row : groups_.rows(groups[item])) {
            std::fill_n(&sums_[row * columns_], columns_, 0.0);
            std::fill_n(&variances_[row * squares_], squares_, 0.0);
        }
    });
}

// Groups whose further sample would be more work than exact sums.
void Sampler::give_up(double share) {
    std::vector<size_t> exactly;
    for (size_t group = 0; group < groups_.groups(); group++)
        if (fractions_[group] < 1 && fractions_[group] * share >= max_fraction) {
            fractions_[group] = 1;
            exactly.push_back(group);
        }
    sum_exactly(exactly);
}

SampledSums Sampler::run(uint64_t seed) {
    const size_t groups = groups_.groups();
    choose_near();
    team_.for_each(groups,
                   [&](size_t group, int thread) { add_leaves(group, *workers_[static_cast<size_t>(thread)], false); });
    if (trees_ > 0) add_pairs_of_trees();

    std::fill(fractions_.begin(), fractions_.end(), std::max(first_share * plan_.fraction, plan_.least));
    if (plan_.fraction < max_fraction) {
        draw(1, random_bits(seed, stream_of_samples, 0));
        size_samples();
    } else {
        std::fill(fractions_.begin(), fractions_.end(), 1.0);
    }
    weight_ = 0; // the first sample's part is done: sizes that follow from its errors would bias its sums
    std::vector<size_t> exactly;
    for (size_t group = 0; group < groups; group++)
        if (fractions_[group] >= 1) exactly.push_back(group);
    sum_exactly(exactly);
    double error = 0;
    if (exactly.size() < groups)
        for (int i = 1; i < max_samples; i++) {
            const double share = i == 1 ? 1 : std::max(min_growth, size_margin * (error / plan_.allowed - 1)) * weight_;
            if (i > 1) give_up(share);
            draw(share, random_bits(seed, stream_of_samples, static_cast<uint64_t>(i)));
            error = 0;
            for (size_t group = 0; group < groups; group++) error += error_of(group);
            if (error <= plan_.allowed) break;
        }
    Buffer<double> errors = errors_of_queries();
    for (size_t i = 0; i < sums_.size(); i++) sums_[i] += near_[i];
    for (const auto& worker : workers_) evaluated_ += worker->near_pairs / static_cast<double>(keys_.rows());
    return {std::move(sums_), std::move(variances_), std::move(errors), error,
            evaluated_ / static_cast<double>(queries_.rows())};
}

} // namespace

SampledSums sampled_sums(const KeySet& keys, const Estimand& estimand, const KeyStrata& strata,
                         const QueryGroups& groups, const Points& queries, const Plan& plan, uint64_t seed,
                         ThreadTeam& team, RunContext& context) {
    return Sampler(keys, estimand, strata, groups, queries, plan, team, context).run(seed);
}

} // namespace btml::kernel
