#include "core/explanation/partial_dependence.hpp"

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

} // namespace btml::explanation
