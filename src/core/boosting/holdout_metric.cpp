#include "core/boosting/holdout_metric.hpp"

#include "core/metrics/metric_sums.hpp"
#include "core/metrics/ranked_rows.hpp"

namespace btml::boosting {

namespace {

using metrics::Better;
using metrics::Metric;

enum Fits : uint32_t {
    numbers = 1u << static_cast<int>(ObjectiveNumber::squared) | 1u << static_cast<int>(ObjectiveNumber::absolute) |
              1u << static_cast<int>(ObjectiveNumber::huber) | 1u << static_cast<int>(ObjectiveNumber::quantile),
    quantile = 1u << static_cast<int>(ObjectiveNumber::quantile),
    means = 1u << static_cast<int>(ObjectiveNumber::poisson) | 1u << static_cast<int>(ObjectiveNumber::gamma) |
            1u << static_cast<int>(ObjectiveNumber::tweedie),
    binary = 1u << static_cast<int>(ObjectiveNumber::binary),
    multiclass = 1u << static_cast<int>(ObjectiveNumber::multiclass),
    rank = 1u << static_cast<int>(ObjectiveNumber::rank),
};

struct Entry {
    uint32_t objectives;
    const Metric* sums; // null: the rows are ranked
    Better better;
};

// In the order of HoldoutMetric.
constexpr Entry table[] = {
    {numbers | means, &metrics::rmse, Better::lower},
    {numbers | means, &metrics::mae, Better::lower},
    {quantile, &metrics::pinball, Better::lower},
    {means, &metrics::poisson_deviance, Better::lower},
    {binary | multiclass, &metrics::log_loss, Better::lower},
    {binary, &metrics::brier, Better::lower},
    {binary | multiclass, &metrics::accuracy, Better::higher},
    {binary, nullptr, Better::higher},
    {binary, nullptr, Better::higher},
    {rank, nullptr, Better::higher},
};
static_assert(std::size(table) == std::size(holdout_metric_names));

const Entry& entry_of(HoldoutMetric metric) {
    return table[static_cast<size_t>(metric)];
}

const char* name_of(HoldoutMetric metric) {
    return holdout_metric_names[static_cast<size_t>(metric)];
}

bool fits(const Entry& entry, ObjectiveNumber objective) {
    return entry.objectives >> static_cast<int>(objective) & 1;
}

// Calls body(HeldOutRow) for all rows held out.
template <class Body>
void for_each_held_out(const RowScores& scores, RunContext& context, const Body& body) {
    context.for_each(scores.training().rows(), 1, [&](uint64_t i) {
        const auto row = static_cast<uint32_t>(i);
        if (scores.training().role(row) != Role::holdout) return;
        body(scores.held_out_row(row));
        context.worked(50);
    });
}

std::optional<double> metric_of_sums(HoldoutMetric metric, const RowScores& scores, double alpha, RunContext& context) {
    metrics::MetricSums sums(context.memory());
    for_each_held_out(scores, context, [&](const HeldOutRow& row) {
        double numbers[Metric::max_arguments] = {row.target, row.prediction, alpha};
        if (metric == HoldoutMetric::accuracy) numbers[0] = numbers[1] = row.is_correct;
        sums.add(*entry_of(metric).sums, numbers, row.weight);
    });
    return sums.result();
}

std::optional<double> metric_of_ranks(HoldoutMetric metric, const RowScores& scores, uint64_t count,
                                      RunContext& context) {
    metrics::RankedRows rows(context.memory());
    rows.reserve(count);
    for_each_held_out(scores, context,
                      [&](const HeldOutRow& row) { rows.add(row.target, row.prediction, row.weight); });
    return metric == HoldoutMetric::auc ? rows.auc(context) : rows.average_precision(context);
}

} // namespace

bool is_better(HoldoutMetric metric, double value, double than) {
    return entry_of(metric).better == Better::higher ? value > than : value < than;
}

void check_metric(HoldoutMetric metric, ObjectiveNumber objective) {
    if (fits(entry_of(metric), objective)) return;
    std::vector<std::string> valid;
    for (size_t i = 0; i < std::size(table); i++)
        if (fits(table[i], objective)) valid.emplace_back(holdout_metric_names[i]);
    throw Error(ErrorCode::invalid_argument,
                format("metric '%s' is not for objective '%s'", name_of(metric), name_of(objective)), {},
                "Valid are " + quoted_list(valid) + ".");
}

double holdout_metric(HoldoutMetric metric, const RowScores& scores, uint64_t rows, double alpha, RunContext& context) {
    const std::optional<double> value = metric == HoldoutMetric::ndcg ? scores.holdout_ndcg()
                                        : entry_of(metric).sums       ? metric_of_sums(metric, scores, alpha, context)
                                                                      : metric_of_ranks(metric, scores, rows, context);
    if (!value)
        throw Error(
            ErrorCode::invalid_argument, format("metric '%s' is not defined for the rows held out", name_of(metric)),
            metric == HoldoutMetric::ndcg ? "No query has rows of different relevance." : "They have one label only.");
    return *value;
}

} // namespace btml::boosting
