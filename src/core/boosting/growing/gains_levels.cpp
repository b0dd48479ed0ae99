#include "core/boosting/growing/gains.hpp"

#include "core/base/level_vectors.hpp"

namespace btml::boosting::BTML_LEVEL {

namespace {

using btml::BTML_LEVEL::Doubles;
using btml::BTML_LEVEL::Integers;
using btml::BTML_LEVEL::to_doubles;
using btml::BTML_LEVEL::width;

[[gnu::always_inline]] inline void load(const int64_t* from, Integers& to) {
    __builtin_memcpy(&to, from, sizeof(to));
}

// The gain as SplitRules::gain writes it, and whether values on both sides and of the node are within bounds.
[[gnu::always_inline]] inline void find_gain(const GainRules& rules, const Integers& sums, const Integers& hessians,
                                             Doubles& gain, Integers& holds) {
    Doubles left, right, a, b;
    to_doubles(sums, left);
    to_doubles(rules.sum - sums, right);
    to_doubles(hessians, a);
    to_doubles(rules.hessian - hessians, b);
    a = a * rules.hessian_unit + rules.l2;
    b = b * rules.hessian_unit + rules.l2;
    const Doubles both = left + right, c = a + b, known = c - rules.l2;
    holds = (left >= rules.lower * a) & (left <= rules.upper * a) & (right >= rules.lower * b) &
            (right <= rules.upper * b) & (both >= rules.lower * known) & (both <= rules.upper * known);
    const Doubles difference = left * b - right * a;
    gain = difference * difference / (a * b * c);
    if (rules.l2 != 0) gain -= both * both * rules.l2 / (known * c);
}

} // namespace

double find_gains(const GainRules& rules, GainBlock& block) {
    constexpr double infinity = __builtin_inf();
    for (size_t i = block.splits; i % width != 0; i++) block.sums[i] = block.hessians[i] = block.counts[i] = 0;
    Doubles largest{};
    for (size_t i = 0; i < block.splits; i += width) {
        Integers sums, hessians, counts, holds;
        load(block.sums + i, sums);
        load(block.hessians + i, hessians);
        load(block.counts + i, counts);
        const Integers admissible = (counts >= rules.min_count) & (rules.count - counts >= rules.min_count) &
                                    (hessians >= rules.min_hessian) & (rules.hessian - hessians >= rules.min_hessian);
        Doubles gain;
        find_gain(rules, sums, hessians, gain, holds);
        gain = admissible ? gain : Doubles{} - 1.0;
        largest = (gain > largest) & holds ? gain : largest;
        gain = admissible & ~holds ? Doubles{} + infinity : gain;
        __builtin_memcpy(block.gains + i, &gain, sizeof(gain));
    }
    double result = 0;
    for (size_t i = 0; i < width; i++)
        if (largest[i] > result) result = largest[i];
    return result;
}

} // namespace btml::boosting::BTML_LEVEL
