#include "core/gp/fit.hpp"

#include "core/gp/trainer.hpp"
#include "core/numbers/hashed_rows.hpp"
#include "core/numbers/usual_range.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace btml::gp {

namespace {

constexpr uint64_t stream = 0x63616c69627261; // apart from the random bits of searches

uint64_t hash_of(uint64_t hash, double value) {
    return random_bits(hash, stream, std::bit_cast<uint64_t>(value));
}

uint64_t hash_of_features(const TrainingColumns& columns, size_t row, uint64_t seed) {
    std::vector<double> values(columns.features.size());
    columns.read_row(row, values);
    uint64_t hash = seed;
    for (const double value : values) hash = hash_of(hash, value);
    return hash;
}

// Held-out rows come in the order of their targets, of which their numbers must tell nothing.
uint64_t content_hash(const TrainingColumns& columns, size_t row, uint64_t seed) {
    return hash_of(hash_of(hash_of_features(columns, row, seed), columns.target[row]), columns.weight_of(row));
}

struct Key {
    uint64_t features;
    double target;
};

template <class Before>
void sort_keys(Buffer<Key>& keys, RunContext& context, const Before& before) {
    std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
        context.worked(2);
        return before(a, b);
    });
}

// Calls body(begin, end) for runs of keys that have the same value.
template <class Value, class Body>
void for_each_run(const Buffer<Key>& keys, const Value& value, const Body& body) {
    for (size_t begin = 0, end; begin < keys.size(); begin = end) {
        for (end = begin + 1; end < keys.size() && value(keys[end]) == value(keys[begin]);) end++;
        body(begin, end);
    }
}

// Returns the part of the rows that have the commonest target.
double commonest_part(Buffer<Key>& keys, RunContext& context) {
    sort_keys(keys, context, [](const Key& a, const Key& b) { return a.target < b.target; });
    size_t most = 0;
    for_each_run(
        keys, [](const Key& key) { return key.target; },
        [&](size_t begin, size_t end) { most = std::max(most, end - begin); });
    return static_cast<double>(most) / static_cast<double>(keys.size());
}

// Returns a warning where many rows are copies of others, as a join can make them. Rows that have the features of
// others by nature seldom have their target as well, but where nearly all rows have one target, as of rare events.
std::optional<std::string> find_copies(const TrainingColumns& rows, RunContext& context) {
    static constexpr double min_part = 0.1, min_part_of_repeated = 0.9, min_told_apart = 20;
    const size_t count = rows.rows();
    Buffer<Key> keys(context.memory(), "copies of rows");
    context.for_each(count, 2 + rows.features.size(), [&](size_t row) {
        keys.push_back({hash_of_features(rows, row, 0), rows.target[row]});
    });
    const double commonest = commonest_part(keys, context);
    sort_keys(keys, context, [](const Key& a, const Key& b) {
        return std::pair(a.features, a.target) < std::pair(b.features, b.target);
    });
    double repeated = 0, copies = 0, by_chance = 0;
    for_each_run(
        keys, [](const Key& key) { return key.features; },
        [&](size_t begin, size_t end) {
            if (end - begin == 1) return;
            const auto of_run = static_cast<double>(end - begin);
            repeated += of_run;
            by_chance += of_run * std::pow(commonest, of_run - 1); // at most
            if (keys[begin].target == keys[end - 1].target) copies += of_run;
        });
    const double told_apart = repeated - by_chance; // copies alone would have one target in these
    if (copies < min_part * static_cast<double>(count) || told_apart < min_told_apart ||
        copies - by_chance < min_part_of_repeated * told_apart)
        return std::nullopt;
    return format("%.0f of %zu rows have the features and the target of another: copies tell nothing of the noise, and "
                  "predictions are surer than they should be; fit distinct rows, or hold out all copies of a row",
                  copies, count);
}

// Says whether a model is chosen by held-out rows.
bool held_out_rows_choose(const Options& options, const FitRows& rows) {
    if (options.kernel == KernelChoice::automatic || options.varying_noise.value_or(false)) return true;
    if (options.kernel == KernelChoice::tree && options.combine == Combine::automatic) return true;
    return is_mean_open(options, rows.training.rows()) && rows.choosing.rows() >= 2 * min_rows_to_choose;
}

// Where held-out rows choose a model, they say too little of how far off it is; half of them stays out of that. A few
// choose worse than rows left out in turn, and none of them does.
void withhold_half(FitRows& rows, uint64_t seed, RunContext& context) {
    const size_t count = rows.choosing.rows();
    const Buffer<HashedRow> order =
        rows_by_hash(count, "halves of held-out rows", 2 + rows.choosing.features.size(), context,
                     [&](size_t row) { return content_hash(rows.choosing, row, seed); });
    // Rows that are alike, which come one after the other, go to one half as to the other.
    std::vector<uint32_t> choosing, calibrating;
    for (size_t i = 0; i < count; i++)
        (i % 2 == 0 && count >= 2 * min_rows_to_choose ? choosing : calibrating).push_back(order[i].row);
    std::sort(choosing.begin(), choosing.end());
    rows.calibrating = select(rows.choosing, calibrating, context);
    rows.choosing = select(rows.choosing, choosing, context);
    rows.are_halves = true;
}

// Returns the mean negative log density of the scored rows by the normal of the mean and variance of targets to train
// on.
double nll_of_constant(const TrainingColumns& training, const TrainingColumns& scored, RunContext& context) {
    double weights = 0, mean = 0, squares = 0, squares_scored = 0;
    context.for_each(training.rows(), 1, [&](uint64_t i) {
        const double weight = training.weight_of(i), off = training.target[i] - mean;
        weights += weight;
        if (weight > 0) mean += off * weight / weights;
        squares += weight * off * (training.target[i] - mean);
    });
    context.for_each(scored.rows(), 1,
                     [&](uint64_t i) { squares_scored += (scored.target[i] - mean) * (scored.target[i] - mean); });
    const double variance = squares / weights, mean_square = squares_scored / static_cast<double>(scored.rows());
    return (std::log(2 * std::numbers::pi * variance) + mean_square / variance) / 2;
}

// Returns a warning where targets are far from all others, which a gp can only take for noise of every row.
std::optional<std::string> find_far_targets(const TrainingColumns& rows) {
    const auto for_each_target = [&](const auto& body) { std::ranges::for_each(rows.target, body); };
    const UsualRange usual = usual_range(for_each_target);
    size_t far = 0;
    for_each_target([&](double y) { far += !usual.contains(y); });
    if (far == 0) return std::nullopt;
    return format("%zu of %zu targets are more than 1,000 times as far from the median as half of the others: they "
                  "count as noise of all rows; leave them out, or give them weight 0",
                  far, rows.rows());
}

// Checked options, with what they ask for of a dataset.
struct Task {
    std::vector<Feature> features;
    FitMemory memory;
    std::vector<Timing> timings = {};
    double nll_of_constant = 0; // of rows that are held out where there are any, or else of those to train on
    uint64_t scored_rows = 0;

    Task(const Dataset& dataset, const Options& options)
        : features((options.validate(), features_of(dataset))), memory(dataset, options) {}

    FitRows read(Dataset dataset, const Options& options, RunContext& context) {
        const auto members = static_cast<size_t>(std::max(1, options.members));
        const size_t workers = std::min(members, static_cast<size_t>(std::max(1, context.threads())));
        context.memory().require(memory.peak(static_cast<int>(workers)), "a Gaussian process");
        if (options.mean == Mean::boosted)
            context.memory().require(trees_bytes(dataset.rows, features, context),
                                     "boosted trees and a Gaussian process");
        context.progress("sorting rows", 0, 0);
        FitRows rows = timed(timings, "sorting rows", [&] { return expand(std::move(dataset), context); });
        const TrainingColumns& scored = rows.choosing.rows() > 0 ? rows.choosing : rows.training;
        scored_rows = scored.rows();
        nll_of_constant = gp::nll_of_constant(rows.training, scored, context);
        if (held_out_rows_choose(options, rows)) withhold_half(rows, static_cast<uint64_t>(options.seed), context);
        return rows;
    }

    // Warns where the model is worse by more than chance explains, as boosting::is_worse_than_constant() has it of log
    // loss.
    void compare_with_constant(FitResult& result) const {
        const Model& model = result.model;
        if (!std::isfinite(nll_of_constant) || !(model.holdout_nll || model.leave_one_out)) return;
        const double nll = model.holdout_nll ? *model.holdout_nll : model.leave_one_out->mean_nll;
        if (!(nll - nll_of_constant > std::max(8 / static_cast<double>(scored_rows), 0.005))) return;
        result.warnings.push_back(
            format("the fit is worse than a constant on %s: the mean negative log density is %.3g, "
                   "that of the normal of the target's mean and variance %.3g",
                   model.holdout_nll ? "held-out rows" : "training rows left out in turn", nll, nll_of_constant));
    }
};

} // namespace

std::vector<Feature> features_of(const Dataset& dataset) {
    return {dataset.features.begin(), dataset.features.end()};
}

FitResult fit(Dataset dataset, const Options& options, RunContext& context) {
    Task task(dataset, options);
    FitRows rows = task.read(std::move(dataset), options, context);
    std::optional<std::string> copies, far = find_far_targets(rows.training);
    if (rows.choosing.rows() + rows.calibrating.rows() == 0) copies = find_copies(rows.training, context);
    FitResult result = fit_with_mean(std::move(rows), task.features, options, task.memory, context);
    if (copies) result.warnings.push_back(std::move(*copies));
    if (far) result.warnings.push_back(std::move(*far));
    task.compare_with_constant(result);
    result.timings.insert(result.timings.begin(), task.timings.begin(), task.timings.end());
    return result;
}

std::vector<FitResult> fit_members(Dataset dataset, const Options& options, RunContext& context) {
    Task task(dataset, options);
    FitRows rows = task.read(std::move(dataset), options, context);
    return Trainer(std::move(rows), task.features, options, task.memory, context).fit_members();
}

} // namespace btml::gp
