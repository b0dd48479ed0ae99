#include "core/base/level_vectors.hpp"
#include "core/boosting/rows/weighing.hpp"

#include <bit>

namespace btml::boosting::BTML_LEVEL {

namespace {

using btml::BTML_LEVEL::Bits;
using btml::BTML_LEVEL::convert;
using btml::BTML_LEVEL::Doubles;
using btml::BTML_LEVEL::Integers;
using btml::BTML_LEVEL::width;

// Adding this to a double below 2^51 leaves its whole number in the lowest bits, rounded as llrint does.
constexpr double shifter = 0x1.8p52;

[[gnu::always_inline]] inline void load(const int64_t* from, Integers& to) {
    __builtin_memcpy(&to, from, sizeof(Integers));
}

// Multiplies a vector by weights that are in units already.
[[gnu::always_inline]] inline void weigh(const Doubles& weights, Integers& numbers) {
    Doubles product;
    convert(numbers, product);
    product = weights * product;
    numbers = __builtin_bit_cast(Integers, product + shifter) - std::bit_cast<int64_t>(shifter);
}

[[gnu::always_inline]] inline void load_weights(const int64_t* weights, double unit, Doubles& to) {
    Integers whole;
    load(weights, whole);
    convert(whole, to);
    to *= unit;
}

int64_t weighed(int64_t weight, double unit, int64_t number) {
    const double product = static_cast<double>(weight) * unit * static_cast<double>(number);
    return std::bit_cast<int64_t>(product + shifter) - std::bit_cast<int64_t>(shifter);
}

} // namespace

void weigh_numbers(const int64_t* weights, double unit, size_t count, int64_t* numbers) {
    size_t i = 0;
    for (; i + width <= count; i += width) {
        Doubles weight;
        Integers number;
        load_weights(weights + i, unit, weight);
        load(numbers + i, number);
        weigh(weight, number);
        __builtin_memcpy(numbers + i, &number, sizeof(number));
    }
    for (; i < count; i++) numbers[i] = weighed(weights[i], unit, numbers[i]);
}

void weigh_stats(const int64_t* weights, double unit, size_t count, Stats* stats) {
    size_t i = 0;
    for (; i + width <= count; i += width) {
        Doubles weight;
        Integers sums, hessians;
        load_weights(weights + i, unit, weight);
        for (size_t lane = 0; lane < width; lane++) {
            sums[lane] = stats[i + lane].sum;
            hessians[lane] = stats[i + lane].hessian;
        }
        weigh(weight, sums);
        weigh(weight, hessians);
        hessians = hessians < 1 ? Integers{} + 1 : hessians;
        for (size_t lane = 0; lane < width; lane++) stats[i + lane] = {sums[lane], hessians[lane]};
    }
    for (; i < count; i++) {
        const int64_t hessian = weighed(weights[i], unit, stats[i].hessian);
        stats[i] = {weighed(weights[i], unit, stats[i].sum), hessian < 1 ? 1 : hessian};
    }
}

} // namespace btml::boosting::BTML_LEVEL
