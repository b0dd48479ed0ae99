#include "core/boosting/explanations/importance.hpp"

#include <cmath>

namespace btml::boosting {

std::vector<ContributionSize> contribution_sizes(Explainer& explainer, std::span<const double> points,
                                                 WideCount of_rows, RunContext& context) {
    const size_t features = explainer.features(), rows = points.size() / features;
    std::vector<double> found((features + 1) * explainer.score_count()), means(features, 0.0), squares(features, 0.0);
    for (size_t row = 0; row < rows; row++) {
        context.last_progress("explaining rows", row, rows);
        explainer.contributions(points.subspan(row * features, features), found);
        for (size_t f = 0; f < features; f++) {
            double size = 0;
            for (size_t at = f; at < found.size(); at += features + 1) size += std::abs(found[at]);
            const double difference = size - means[f]; // Welford's recurrence
            means[f] += difference / static_cast<double>(row + 1);
            squares[f] += difference * (size - means[f]);
        }
        context.worked(found.size());
    }
    const auto n = static_cast<double>(rows);
    const double left_out = 1 - n / static_cast<double>(of_rows);
    std::vector<ContributionSize> sizes;
    for (size_t f = 0; f < features; f++) {
        ContributionSize& size = sizes.emplace_back(ContributionSize{means[f], 0});
        if (rows == of_rows) continue;
        if (rows == 1)
            size.std_error.reset();
        else
            size.std_error = std::sqrt(squares[f] / (n - 1) / n * left_out);
    }
    return sizes;
}

} // namespace btml::boosting
