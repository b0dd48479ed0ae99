#include "core/gp/tree/leave_one_out.hpp"

#include "core/gp/tree/contrasts.hpp"

#include <cmath>

namespace btml::gp {

namespace {

struct Meeting {
    Normal left, right;
};

// Returns the distribution `prior` after an observation; exact where the prior's variance is 0.
Normal after(const Normal& prior, const Normal& observation) {
    const double inverse = 1 / (prior.variance + observation.variance);
    return {prior.mean + (observation.mean - prior.mean) * prior.variance * inverse,
            prior.variance * observation.variance * inverse};
}

} // namespace

LeaveOneOut left_out_score(const uncertainty::StandardisedErrors& errors, RunContext& context,
                           const uncertainty::VarianceCalibration& variance) {
    double squares = 0, covered = 0;
    context.for_each(errors.size(), 8, [&](size_t i) {
        const double error = errors.errors()[i], deviation = errors.deviations()[i];
        squares += error * error;
        covered += std::fabs(error) <= half_of_central_90 * std::sqrt(variance(deviation * deviation));
    });
    const double rows = static_cast<double>(errors.size());
    return {errors.size(), errors.mean_nll(variance), std::sqrt(squares / rows), covered / rows};
}

// Goes from the last row to the first, as in the likelihood's gradient: what the rest says of a subtree at its root
// waits at the level where the subtree was open until the row is reached that opened it.
Normals leave_one_out(std::span<const uint16_t> common, const Observations& sorted, const Kernel& kernel,
                      RunContext& context) {
    const size_t rows = sorted.size(), levels = kernel.levels();
    Normals result{Buffer<double>(context.memory(), "leave-one-out means", rows),
                   Buffer<double>(context.memory(), "leave-one-out variances", rows)};
    if (rows == 0) return result;
    Buffer<Meeting> meetings(context.memory(), "leave-one-out pass", rows);
    Buffer<uint16_t> meeting_levels(context.memory(), "leave-one-out pass", rows);
    size_t meeting = 0;
    double contrasts = 0;
    meet_all(common, sorted, kernel, contrasts, context, [&](const Subtree& left, double variance, double mean) {
        meetings[meeting] = {{left.mean, left.variance}, {mean, variance}};
        meeting_levels[meeting++] = left.level;
    });
    const std::vector<double> c = kernel.covariances();
    std::vector<Normal> waiting(levels + 1);
    for (size_t i = rows; i-- > 0;) {
        context.worked(1);
        size_t level = common[i];
        const size_t first = i > 0 ? common[i - 1] : 0; // where this row met its left neighbour
        Normal at = waiting[level];
        const bool met = i > 0 && first >= level;
        while (met) {
            const auto& [left, right] = meetings[--meeting];
            at.variance += c[meeting_levels[meeting]] - c[level];
            level = meeting_levels[meeting];
            waiting[level] = after(at, right);
            at = after(at, left);
            if (level == first) break;
        }
        result.mean[i] = at.mean;
        result.variance[i] = at.variance + (c[levels] - c[level]);
    }
    return result;
}

} // namespace btml::gp
