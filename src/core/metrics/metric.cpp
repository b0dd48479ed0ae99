#include "core/metrics/metric.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace btml::metrics {

static bool is_negative_zero(double x) {
    return x == 0 && std::signbit(x);
}

// The second sum counts negative zeros, which add up to one where there is nothing else.
static void add_plain(const double* row, double weight, WideSum* sums) {
    sums[0].add(*row);
    if (is_negative_zero(*row)) [[unlikely]]
        sums[1].add(weight);
}
static std::optional<double> plain(const WideSum* sums, const WideSum& weight) {
    const double sum = sums[0].value();
    return sum == 0 && sums[1] == weight ? -0.0 : sum;
}

constinit const Metric exact_sum{"exact_sum", 1, Better::neither, 2, add_plain, plain};

// States hold the places of metrics in this table.
static constexpr const Metric* all_metrics[] = {
    &exact_sum, &rmse,     &mae,      &r2,         &poisson_deviance, &pinball,       &log_loss,
    &brier,     &accuracy, &coverage, &nll_normal, &crps_normal,      &nll_student_t,
};

int number_of(const Metric& metric) {
    const auto* const found = std::ranges::find(all_metrics, &metric);
    return found == std::end(all_metrics) ? -1 : static_cast<int>(found - all_metrics);
}

const Metric* find_metric(int number) {
    return number >= 0 && number < static_cast<int>(std::size(all_metrics)) ? all_metrics[number] : nullptr;
}

const Metric* find_metric(std::string_view name) {
    const auto* const found =
        std::ranges::find_if(all_metrics, [&](const Metric* metric) { return metric->name == name; });
    return found == std::end(all_metrics) ? nullptr : *found;
}

} // namespace btml::metrics
