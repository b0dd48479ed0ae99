#include "core/validation/scorer.hpp"

namespace btml::validation {

Best best_of_mean(const std::vector<Curve>& curves, const Scorer& scorer) {
    Best best;
    for (size_t i = 0; i < curves.front().values.size(); i++) {
        double sum = 0;
        for (const Curve& curve : curves) sum += curve.values[i];
        const double mean = sum / static_cast<double>(curves.size());
        if (best.trees > 0 && !scorer.is_better(mean, best.mean)) continue;
        best.trees = i + 1;
        best.mean = mean;
    }
    for (const Curve& curve : curves) best.values.push_back(curve.values[best.trees - 1]);
    return best;
}

} // namespace btml::validation
