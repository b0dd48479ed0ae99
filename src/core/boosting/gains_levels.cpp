#include "core/boosting/gains.hpp"

#include "core/base/level_vectors.hpp"

namespace btml::boosting::BTML_LEVEL {

namespace {

using btml::BTML_LEVEL::Doubles;
using btml::BTML_LEVEL::Integers;
using btml::BTML_LEVEL::width;

[[gnu::always_inline]] inline void load(const int64_t* from, Integers& to) {
    __builtin_memcpy(&to, from, sizeof(to));
}

// Rounds to the nearest, as every conversion does. Where there is no instruction for it, the upper and the lower half
// become the last digits of a power of two each, which is taken away again: the first of these is exact.
[[gnu::always_inline]] inline void convert(const Integers& integers, Doubles& doubles) {
#ifdef __AVX512DQ__
    doubles = __builtin_convertvector(integers, Doubles);
#else
    constexpr int64_t two_52 = 0x4330'0000'0000'0000, two_84_and_63 = 0x4530'0000'8000'0000;
    const Integers low = (integers & 0xffff'ffff) | two_52, high = ((integers >> 32) & 0xffff'ffff) ^ two_84_and_63;
    doubles = reinterpret_cast<Doubles>(high) - (0x1p84 + 0x1p63 + 0x1p52) + reinterpret_cast<Doubles>(low);
#endif
}

// The gain as SplitRules::gain writes it, and whether values on both sides and of the node are within bounds.
[[gnu::always_inline]] inline void find_gain(const GainRules& rules, const Integers& sums, const Integers& hessians,
                                             Doubles& gain, Integers& holds) {
    Doubles left, right, a, b;
    convert(sums, left);
    convert(rules.sum - sums, right);
    convert(hessians, a);
    convert(rules.hessian - hessians, b);
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
