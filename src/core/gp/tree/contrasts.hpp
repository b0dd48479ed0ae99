// Makes the pass over sorted rows behind the likelihood and its kin; see likelihood.hpp. It is no interface of its own.
#pragma once

#include "core/gp/tree/log_product.hpp"
#include "core/gp/tree/observations.hpp"
#include "core/gp/tree/tree_kernel.hpp"

namespace btml::gp {

// Stands for a subtree to the left of the current row, as an observation at a level above which it will meet the next
// one.
struct Subtree {
    double variance, mean;
    int32_t level;
};

// meet(left, variance, mean) for every two subtrees that meet, the right one with that variance and mean. Returns the
// whole tree at level 0, and adds up −2 log p of the contrasts.
template <bool weighted, class Meet>
Subtree meet_all(std::span<const uint16_t> common, const Observations& sorted, const Kernel& kernel, double& contrasts,
                 RunContext& context, Meet&& meet) {
    const std::vector<double> covariances = kernel.covariances();
    const double* const c = covariances.data();
    const auto levels = static_cast<int32_t>(kernel.levels());
    std::vector<Subtree> open(kernel.levels() + 2);
    Subtree* last = open.data(); // of the open subtrees, whose levels increase
    *last = {0, 0, -1};
    double squares = 0;
    LogProduct variances;
    // RunContext::in_blocks() would keep in memory what the loop has in registers.
    static constexpr size_t block = size_t{1} << 16;
    for (size_t begin = 0; begin < sorted.size(); begin += block) {
        const size_t end = std::min(sorted.size(), begin + block);
        for (size_t i = begin; i < end; i++) {
            double variance = weighted ? kernel.noise / sorted.weight[i] : kernel.noise, mean = sorted.target[i];
            int32_t level = levels;
            const int32_t next = common[i];
            for (; last->level >= next; last--) {
                variance += c[level] - c[last->level];
                const double sum = last->variance + variance, difference = last->mean - mean, inverse = 1 / sum;
                squares += difference * difference * inverse;
                variances.multiply(sum);
                meet(*last, variance, mean);
                mean += difference * (variance * inverse);
                variance *= last->variance * inverse;
                level = last->level;
            }
            *++last = {variance + (c[level] - c[next]), mean, next};
        }
        context.worked(end - begin);
    }
    contrasts = squares + variances.log();
    return *last;
}

template <class Meet>
Subtree meet_all(std::span<const uint16_t> common, const Observations& sorted, const Kernel& kernel, double& contrasts,
                 RunContext& context, Meet&& meet) {
    return sorted.weight.empty() ? meet_all<false>(common, sorted, kernel, contrasts, context, meet)
                                 : meet_all<true>(common, sorted, kernel, contrasts, context, meet);
}

} // namespace btml::gp
