#include "core/explanation/feature_effects.hpp"

#include "core/numbers/rng.hpp"
#include "core/numbers/sample_mean.hpp"

#include <algorithm>
#include <cmath>

namespace btml::explanation {

namespace {

// Returns rows at quantiles, each value once; `rows` are in the order of their values.
std::vector<size_t> spread_rows(std::span<const double> values, std::span<const size_t> rows, size_t points) {
    std::vector<size_t> found;
    for (size_t i = 0; i < points && !rows.empty(); i++) {
        const double place = points == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(points - 1);
        const size_t row = rows[static_cast<size_t>(std::llround(place * static_cast<double>(rows.size() - 1)))];
        if (found.empty() || sql_less(values[found.back()], values[row])) found.push_back(row);
    }
    return found;
}

// Returns a row of each of the most frequent values; `rows` are in the order of their values.
std::vector<size_t> frequent_rows(std::span<const double> values, std::span<const size_t> rows, size_t points,
                                  RunContext& context) {
    struct Run {
        size_t row, count;
    };
    std::vector<Run> runs;
    context.for_each(rows.size(), 1, [&](uint64_t i) {
        const size_t row = rows[i];
        if (runs.empty() || values[runs.back().row] != values[row]) runs.push_back({row, 0});
        runs.back().count++;
    });
    std::stable_sort(runs.begin(), runs.end(), [&](const Run& a, const Run& b) {
        context.worked(1);
        return a.count > b.count;
    });
    runs.resize(std::min(runs.size(), points));
    std::sort(runs.begin(), runs.end(), [&](const Run& a, const Run& b) { return values[a.row] < values[b.row]; });
    std::vector<size_t> found;
    for (const Run& run : runs) found.push_back(run.row);
    return found;
}

// Interpolates between the two neighbours in rank.
double quantile(std::span<const double> sorted, double part) {
    const double place = part * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<size_t>(place);
    const double rest = place - static_cast<double>(below);
    return rest == 0 ? sorted[below] : sorted[below] + rest * (sorted[below + 1] - sorted[below]);
}

} // namespace

std::vector<size_t> grid_rows(std::span<const double> values, bool categorical, size_t points, RunContext& context) {
    std::vector<size_t> rows;
    std::optional<size_t> null;
    context.for_each(values.size(), 1, [&](uint64_t row) {
        if (!is_null(values[row]))
            rows.push_back(row);
        else if (!null)
            null = row;
    });
    std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
        context.worked(1);
        return sql_less(values[a], values[b]);
    });
    std::vector<size_t> found =
        categorical ? frequent_rows(values, rows, points, context) : spread_rows(values, rows, points);
    if (null) found.push_back(*null);
    return found;
}

Dependence summarise(std::span<double> predictions, double left_out, RunContext& context) {
    SampleMean mean;
    context.for_each(predictions.size(), 1, [&](uint64_t i) { mean.add(predictions[i]); });
    std::sort(predictions.begin(), predictions.end(), [&](double a, double b) {
        context.worked(1);
        return sql_less(a, b);
    });
    return {mean.mean(), mean.std_error(left_out), quantile(predictions, 0.1), quantile(predictions, 0.9)};
}

namespace {

using boosting::HeldOutRow;

class Permuting {
  public:
    Permuting(const PermutationTask& task, const PointScorer& score, RunContext& context)
        : task_(task),
          score_(score),
          context_(context),
          order_(task.points.size() / task.features),
          rows_(order_.size()) {
        restore_order();
        base_ = metric({0, 0, {}});
    }

    // Returns by how much the metric gets worse.
    double importance(const FeatureGroup& group, int repeat) {
        restore_order();
        RandomStream random(task_.seed, static_cast<uint64_t>(repeat) * task_.features + group.first);
        context_.for_each(order_.size() - 1, 4, [&](uint64_t i) {
            const uint64_t left = order_.size() - i;
            std::swap(order_[left - 1], order_[random.below(left)]);
        });
        const double permuted = metric(group);
        const double difference = std::abs(permuted - base_);
        return boosting::is_better(task_.metric, permuted, base_) ? -difference : difference;
    }

  private:
    // Lets each row have its own values.
    void restore_order() {
        context_.for_each(order_.size(), 1, [&](uint64_t row) { order_[row] = static_cast<uint32_t>(row); });
    }
    // Returns the metric where the group's features have the values that they have in another row.
    double metric(const FeatureGroup& group) {
        for (size_t row = 0; row < rows_.size(); row++) {
            const auto own = task_.points.begin() + static_cast<std::ptrdiff_t>(row * task_.features);
            point_.assign(own, own + static_cast<std::ptrdiff_t>(task_.features));
            const size_t other = order_[row] * task_.features;
            for (size_t f = group.first; f < group.first + group.count; f++) point_[f] = task_.points[other + f];
            rows_[row] = score_(point_, row);
        }
        if (const auto value = boosting::metric_of(task_.metric, rows_, task_.alpha, context_)) return *value;
        throw Error(ErrorCode::invalid_argument,
                    format("metric '%s' is not defined for the rows",
                           boosting::holdout_metric_names[static_cast<size_t>(task_.metric)]),
                    "They have one label only.");
    }

    const PermutationTask& task_;
    const PointScorer& score_;
    RunContext& context_;
    std::vector<uint32_t> order_; // whose values of the group a row has
    std::vector<HeldOutRow> rows_;
    std::vector<double> point_;
    double base_;
};

} // namespace

std::vector<SampleMean> permutation_importance(const PermutationTask& task, const PointScorer& score,
                                               RunContext& context) {
    const size_t rows = task.points.size() / task.features;
    const Reservation held(context.memory(), "permuted rows", rows * (sizeof(HeldOutRow) + sizeof(uint32_t)));
    Permuting permuting(task, score, context);
    std::vector<SampleMean> found(task.groups.size());
    for (size_t g = 0; g < found.size(); g++)
        for (int repeat = 0; repeat < task.repeats; repeat++) {
            const auto done = g * static_cast<size_t>(task.repeats) + static_cast<size_t>(repeat);
            context.share_progress("predicting", done, found.size() * static_cast<size_t>(task.repeats));
            found[g].add(permuting.importance(task.groups[g], repeat));
        }
    return found;
}

} // namespace btml::explanation
