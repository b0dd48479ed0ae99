#include "core/boosting/explanations/importance.hpp"

#include "core/numbers/sample_mean.hpp"

namespace btml::boosting {

std::vector<ContributionSize> contribution_sizes(Explainer& explainer, std::span<const FeatureGroup> groups,
                                                 std::span<const double> points, WideCount of_rows,
                                                 RunContext& context) {
    const size_t features = explainer.features(), rows = points.size() / features;
    std::vector<double> found((features + 1) * explainer.score_count());
    std::vector<SampleMean> means(groups.size());
    for (size_t row = 0; row < rows; row++) {
        context.share_progress("explaining rows", row, rows);
        explainer.contributions(points.subspan(row * features, features), found);
        for (size_t g = 0; g < groups.size(); g++) {
            double size = 0;
            for (size_t score = 0; score < found.size(); score += features + 1)
                size += std::abs(total_of(groups[g], std::span(found).subspan(score, features)));
            means[g].add(size);
        }
        context.worked(found.size());
    }
    const double left_out = 1 - static_cast<double>(rows) / static_cast<double>(of_rows);
    std::vector<ContributionSize> sizes;
    for (const SampleMean& mean : means) sizes.push_back({mean.mean(), mean.std_error(left_out)});
    return sizes;
}

} // namespace btml::boosting
