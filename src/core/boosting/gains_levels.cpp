#include "core/boosting/gains.hpp"

namespace btml::boosting::BTML_LEVEL {

namespace {

using Integers [[gnu::vector_size(lanes * sizeof(int64_t))]] = int64_t;

[[gnu::always_inline]] inline void load(const int64_t* from, Integers& to) {
    __builtin_memcpy(&to, from, sizeof(to));
}

// The gain as SplitRules::gain writes it, and whether values on both sides and of the node are within bounds.
[[gnu::always_inline]] inline void find_gain(const GainRules& rules, const Integers& sums, const Integers& hessians,
                                             Lanes& gain, Integers& holds) {
    const Lanes left = __builtin_convertvector(sums, Lanes), right = __builtin_convertvector(rules.sum - sums, Lanes);
    const Lanes a = __builtin_convertvector(hessians, Lanes) * rules.hessian_unit + rules.l2;
    const Lanes b = __builtin_convertvector(rules.hessian - hessians, Lanes) * rules.hessian_unit + rules.l2;
    const Lanes both = left + right, c = a + b, known = c - rules.l2;
    holds = (left >= rules.lower * a) & (left <= rules.upper * a) & (right >= rules.lower * b) &
            (right <= rules.upper * b) & (both >= rules.lower * known) & (both <= rules.upper * known);
    const Lanes difference = left * b - right * a;
    gain = difference * difference / (a * b * c);
    if (rules.l2 != 0) gain -= both * both * rules.l2 / (known * c);
}

} // namespace

double find_gains(const GainRules& rules, GainBlock& block) {
    constexpr double infinity = __builtin_inf();
    for (size_t i = block.splits; i % lanes != 0; i++) block.sums[i] = block.hessians[i] = block.counts[i] = 0;
    Lanes largest{};
    for (size_t i = 0; i < block.splits; i += lanes) {
        Integers sums, hessians, counts, holds;
        load(block.sums + i, sums);
        load(block.hessians + i, hessians);
        load(block.counts + i, counts);
        const Integers admissible = (counts >= rules.min_count) & (rules.count - counts >= rules.min_count) &
                                    (hessians >= rules.min_hessian) & (rules.hessian - hessians >= rules.min_hessian);
        Lanes gain;
        find_gain(rules, sums, hessians, gain, holds);
        gain = admissible ? gain : Lanes{} - 1.0;
        largest = (gain > largest) & holds ? gain : largest;
        gain = admissible & ~holds ? Lanes{} + infinity : gain;
        __builtin_memcpy(block.gains + i, &gain, sizeof(gain));
    }
    double result = 0;
    for (size_t lane = 0; lane < lanes; lane++)
        if (largest[lane] > result) result = largest[lane];
    return result;
}

} // namespace btml::boosting::BTML_LEVEL
