#include "core/gp/tree/likelihood.hpp"

#include "core/gp/tree/contrasts.hpp"

#include <numbers>

namespace btml::gp {

namespace {

// Returns what the single rows of merged entries add to 2·NLL, and the constant.
double of_merged_rows(const Observations& sorted, double noise) {
    const double rows = static_cast<double>(sorted.size()) + sorted.merged;
    return sorted.residual / noise + sorted.merged * std::log(noise) - sorted.log_weights +
           rows * std::log(2 * std::numbers::pi);
}

double add_up(const Subtree& root, double contrasts, const Observations& sorted, double noise) {
    return (contrasts + root.mean * root.mean / root.variance + std::log(root.variance) +
            of_merged_rows(sorted, noise)) /
           2;
}

} // namespace

double negative_log_likelihood(std::span<const uint16_t> common, const Observations& sorted, const Kernel& kernel,
                               RunContext& context) {
    if (sorted.size() == 0) return 0;
    double contrasts = 0;
    const Subtree root = meet_all(common, sorted, kernel, contrasts, context, [](const Subtree&, double, double) {});
    return add_up(root, contrasts, sorted, kernel.noise);
}

// Goes from the last row to the first. The subtree that was open at a level waits there with its adjoint until the row
// is reached that opened it. With s the sum of two variances v1, v2 that meet and d the difference of their means, the
// contrast adds (d²/s + log s)/2, the variance goes on as v1·v2/s and the mean as (m1·v2 + m2·v1)/s.
template <bool weighted>
void LikelihoodGradient::reverse(const Subtree& root, std::span<const uint16_t> common, const Observations& sorted,
                                 const Kernel& kernel, Gradient& gradient, RunContext& context) const {
    struct Adjoint { // ∂NLL/∂ the variance and the mean of a subtree
        double variance, mean;
    };
    const size_t levels = kernel.levels();
    std::vector<Adjoint> waiting(levels + 1);
    std::vector<double> by_covariance(levels + 1, 0.0); // ∂NLL/∂c_0 … ∂NLL/∂c_q
    const double standardised = root.mean / root.variance;
    waiting[0] = {(1 / root.variance - standardised * standardised) / 2, standardised};
    double noise = 0;
    size_t meeting = sorted.size() - 1;
    for (size_t i = sorted.size(); i-- > 0;) {
        context.worked(1);
        size_t level = common[i];
        const size_t first = i > 0 ? common[i - 1] : 0; // where this row met its left neighbour
        Adjoint at = waiting[level];
        by_covariance[level] -= at.variance;
        if (i > 0 && first >= level) {
            do {
                meeting--;
                const auto [v1, v2, d] = meetings_[meeting];
                level = levels_[meeting];
                by_covariance[level] += at.variance;
                const double inverse = 1 / (v1 + v2), share1 = v2 * inverse, share2 = v1 * inverse;
                const double contrast = d * inverse, sum = (inverse - contrast * contrast) / 2;
                waiting[level] = {at.variance * share1 * share1 - at.mean * contrast * share1 + sum,
                                  at.mean * share1 + contrast};
                at = {at.variance * share2 * share2 + at.mean * contrast * share2 + sum, at.mean * share2 - contrast};
                by_covariance[level] -= at.variance;
            } while (level != first);
        }
        by_covariance[levels] += at.variance;
        noise += weighted ? at.variance / sorted.weight[i] : at.variance;
    }
    const double of_entry = sorted.merged - sorted.residual / kernel.noise;
    gradient.noise = noise + of_entry / (2 * kernel.noise);
    gradient.weights.resize(levels);
    double sum = 0;
    for (size_t l = levels; l > 0; l--) gradient.weights[l - 1] = sum += by_covariance[l];
}

LikelihoodGradient::LikelihoodGradient(RunContext& context)
    : meetings_(context.memory(), "likelihood gradient"), levels_(context.memory(), "likelihood gradient") {}

double LikelihoodGradient::operator()(std::span<const uint16_t> common, const Observations& sorted,
                                      const Kernel& kernel, Gradient& gradient, RunContext& context) {
    if (sorted.size() == 0) {
        gradient = {std::vector<double>(kernel.levels(), 0.0), 0};
        return 0;
    }
    meetings_.resize(sorted.size());
    levels_.resize(sorted.size());
    Meeting* meeting = meetings_.data();
    uint16_t* level = levels_.data();
    double contrasts = 0;
    const Subtree root =
        meet_all(common, sorted, kernel, contrasts, context, [&](const Subtree& left, double variance, double mean) {
            *meeting++ = {left.variance, variance, left.mean - mean};
            *level++ = static_cast<uint16_t>(left.level);
        });
    if (sorted.weight.empty())
        reverse<false>(root, common, sorted, kernel, gradient, context);
    else
        reverse<true>(root, common, sorted, kernel, gradient, context);
    return add_up(root, contrasts, sorted, kernel.noise);
}

} // namespace btml::gp
