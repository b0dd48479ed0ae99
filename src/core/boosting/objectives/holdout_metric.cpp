#include "core/boosting/objectives/holdout_metric.hpp"

#include "core/metrics/metric_sums.hpp"
#include "core/metrics/ranked_rows.hpp"

namespace btml::boosting {

namespace {

using metrics::Metric;

const char* name_of(HoldoutMetric metric) {
    return holdout_metric_names[static_cast<size_t>(metric)];
}

// Returns the sums that make the metric; null where the rows are ranked.
const Metric* sums_of(HoldoutMetric metric) {
    return metrics::find_metric(std::string_view(name_of(metric)));
}

bool fits(HoldoutMetric metric, ObjectiveNumber objective) {
    const std::initializer_list<HoldoutMetric> valid = objective_of(objective).metrics;
    return std::find(valid.begin(), valid.end(), metric) != valid.end();
}

// each_row(body) calls body(HeldOutRow) for every row.
template <class EachRow>
std::optional<double> metric_of_sums(HoldoutMetric metric, const EachRow& each_row, double alpha, RunContext& context) {
    metrics::MetricSums sums(context.memory());
    const Metric& of = *sums_of(metric);
    each_row([&](const HeldOutRow& row) {
        double numbers[Metric::max_arguments] = {row.target, row.prediction, alpha};
        if (metric == HoldoutMetric::accuracy) numbers[0] = numbers[1] = row.is_correct;
        sums.add(of, numbers, &row.weight);
        context.worked(50);
    });
    return sums.result();
}

template <class EachRow>
std::optional<double> metric_of_ranks(HoldoutMetric metric, const EachRow& each_row, uint64_t count,
                                      RunContext& context) {
    metrics::RankedRows rows(context.memory());
    rows.reserve(count);
    each_row([&](const HeldOutRow& row) {
        rows.add(row.target, row.prediction, row.weight);
        context.worked(50);
    });
    return metric == HoldoutMetric::auc ? rows.auc(context) : rows.average_precision(context);
}

template <class EachRow>
std::optional<double> metric_of_rows(HoldoutMetric metric, const EachRow& each_row, uint64_t count, double alpha,
                                     RunContext& context) {
    if (sums_of(metric)) return metric_of_sums(metric, each_row, alpha, context);
    return metric_of_ranks(metric, each_row, count, context);
}

} // namespace

bool is_better(HoldoutMetric metric, double value, double than) {
    const Metric* const sums = sums_of(metric);
    return sums && sums->better == metrics::Better::lower ? value < than : value > than;
}

void check_metric(HoldoutMetric metric, ObjectiveNumber objective, const std::string& called) {
    if (fits(metric, objective)) return;
    std::vector<std::string> valid;
    for (size_t i = 0; i < std::size(holdout_metric_names); i++)
        if (fits(static_cast<HoldoutMetric>(i), objective)) valid.emplace_back(holdout_metric_names[i]);
    const std::string of = called.empty() ? format("objective '%s'", name_of(objective)) : called;
    throw Error(ErrorCode::invalid_argument, format("metric '%s' is not for %s", name_of(metric), of.c_str()), {},
                "Valid are " + quoted_list(valid) + ".");
}

double holdout_metric(HoldoutMetric metric, const RowScores& scores, uint64_t rows, double alpha, RunContext& context) {
    const auto each_row = [&](const auto& body) {
        context.for_each(scores.training().rows(), 1, [&](uint64_t i) {
            const auto row = static_cast<uint32_t>(i);
            if (scores.training().role(row) == Role::holdout) body(scores.held_out_row(row));
        });
    };
    const std::optional<double> value =
        metric == HoldoutMetric::ndcg ? scores.holdout_ndcg() : metric_of_rows(metric, each_row, rows, alpha, context);
    if (!value)
        throw Error(
            ErrorCode::invalid_argument, format("metric '%s' is not defined for the rows held out", name_of(metric)),
            metric == HoldoutMetric::ndcg ? "No query has rows of different relevance." : "They have one label only.");
    return *value;
}

std::optional<double> metric_of(HoldoutMetric metric, std::span<const HeldOutRow> rows, double alpha,
                                RunContext& context) {
    const auto each_row = [&](const auto& body) {
        for (const HeldOutRow& row : rows) body(row);
    };
    return metric_of_rows(metric, each_row, rows.size(), alpha, context);
}

std::optional<HoldoutMetric> usual_metric(ObjectiveNumber number) {
    const Objective& objective = objective_of(number);
    return objective.ranks ? std::nullopt : std::optional(*objective.metrics.begin());
}

} // namespace btml::boosting
