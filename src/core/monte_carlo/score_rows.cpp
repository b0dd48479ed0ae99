#include "core/monte_carlo/score_rows.hpp"

#include "core/numbers/hashed_rows.hpp"
#include "core/numbers/sample_mean.hpp"
#include "core/numbers/usual_range.hpp"

#include <cmath>

namespace btml::monte_carlo {

namespace {

double usual_deviation(const Buffer<double>& numbers, RunContext& context) {
    if (numbers.empty()) return 0;
    const auto for_each_number = [&](const auto& body) {
        context.for_each(numbers.size(), 4, [&](size_t i) { body(numbers[i]); });
    };
    const SampleMean mean = usual_mean(for_each_number);
    return std::sqrt(mean.squares() / mean.count());
}

} // namespace

double canonicalise(ScoreRows& rows, RunContext& context) {
    const size_t width = rows.width(), count = rows.size();
    {
        const Buffer<HashedRow> order = rows_by_hash(count, "the order of a score's points", 4, context, [&](size_t i) {
            return hash_of_numbers({rows.row(i), width}, width);
        });
        Buffer<double> sorted(context.memory(), "the points of a score", rows.values.size());
        context.for_each(count, 4,
                         [&](size_t i) { std::copy_n(rows.row(order[i].row), width, sorted.data() + i * width); });
        rows.values = std::move(sorted);
    }
    if (!rows.target || count == 0) return 0;
    double mean = 0; // that of equal targets is what they are, so that nothing remains of them
    for (size_t i = 0; i < count; i++) mean += (rows.values[i * width + width - 1] - mean) / (i + 1);
    for (size_t i = 0; i < count; i++) rows.values[i * width + width - 1] -= mean;
    return mean;
}

std::vector<double> standard_deviations(const ScoreRows& rows, RunContext& context) {
    const size_t width = rows.width(), count = rows.size();
    std::vector<double> deviations;
    Buffer<double> column(context.memory(), "a column of points", count);
    for (size_t k = 0; k < width; k++) {
        context.for_each(count, 1, [&](size_t i) { column[i] = rows.row(i)[k]; });
        // Sorted, so that the order of the rows leaves no trace.
        std::sort(column.begin(), column.end(), [&](double a, double b) {
            context.worked(1);
            return a < b;
        });
        deviations.push_back(usual_deviation(column, context));
    }
    return deviations;
}

void standardise(ScoreRows& rows, RunContext& context) {
    const std::vector<double> deviations = standard_deviations(rows, context);
    const size_t width = rows.width();
    for (size_t i = 0; i < rows.size(); i++) {
        for (size_t k = 0; k < rows.dimensions; k++)
            if (deviations[k] > 0) rows.values[i * width + k] /= deviations[k];
        context.worked(width);
    }
}

} // namespace btml::monte_carlo
