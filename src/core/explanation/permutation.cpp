#include "core/explanation/permutation.hpp"

#include "core/numbers/rng.hpp"

#include <cmath>

namespace btml::explanation {

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
        base_ = metric(0);
    }

    // Returns by how much the metric gets worse.
    double importance(size_t feature, int repeat) {
        restore_order();
        RandomStream random(task_.seed, static_cast<uint64_t>(repeat) * task_.features + feature);
        context_.for_each(order_.size() - 1, 4, [&](uint64_t i) {
            const uint64_t left = order_.size() - i;
            std::swap(order_[left - 1], order_[random.below(left)]);
        });
        const double permuted = metric(feature);
        const double difference = std::abs(permuted - base_);
        return boosting::is_better(task_.metric, permuted, base_) ? -difference : difference;
    }

  private:
    // Lets each row have its own values.
    void restore_order() {
        context_.for_each(order_.size(), 1, [&](uint64_t row) { order_[row] = static_cast<uint32_t>(row); });
    }
    // Returns the metric where the feature has the value that it has in another row.
    double metric(size_t feature) {
        for (size_t row = 0; row < rows_.size(); row++) {
            const auto own = task_.points.begin() + static_cast<std::ptrdiff_t>(row * task_.features);
            point_.assign(own, own + static_cast<std::ptrdiff_t>(task_.features));
            point_[feature] = task_.points[order_[row] * task_.features + feature];
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
    std::vector<uint32_t> order_; // whose value of the feature a row has
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
    std::vector<SampleMean> found(task.features);
    for (size_t f = 0; f < task.features; f++)
        for (int repeat = 0; repeat < task.repeats; repeat++) {
            const auto done = f * static_cast<size_t>(task.repeats) + static_cast<size_t>(repeat);
            context.share_progress("predicting", done, task.features * static_cast<size_t>(task.repeats));
            found[f].add(permuting.importance(f, repeat));
        }
    return found;
}

} // namespace btml::explanation
