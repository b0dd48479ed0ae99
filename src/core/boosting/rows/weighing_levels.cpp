#include "core/base/level_vectors.hpp"
#include "core/boosting/rows/weighing.hpp"

#include <bit>

namespace btml::boosting::BTML_LEVEL {

namespace {

using btml::BTML_LEVEL::Doubles;
using btml::BTML_LEVEL::Integers;
using btml::BTML_LEVEL::to_doubles;
using btml::BTML_LEVEL::width;

// Adding this to a double below 2^51 leaves its whole number in the lowest bits, rounded as llrint does. Products are
// below it, since weights in their units are below 2^11 (scale_of_weights) and numbers at most max_weighed_at_once.
constexpr double shifter = 0x1.8p52;

int64_t weighed(int64_t weight, double unit, int64_t number) {
    const double product = static_cast<double>(weight) * unit * static_cast<double>(number);
    return std::bit_cast<int64_t>(product + shifter) - std::bit_cast<int64_t>(shifter);
}

} // namespace

void weigh_numbers(const int64_t* weights, double unit, size_t count, int64_t* numbers) {
    size_t i = 0;
    for (; i + width <= count; i += width) {
        Integers weight, number;
        __builtin_memcpy(&weight, weights + i, sizeof(weight));
        __builtin_memcpy(&number, numbers + i, sizeof(number));
        Doubles by, product;
        to_doubles(weight, by);
        to_doubles(number, product);
        product = by * unit * product;
        number = __builtin_bit_cast(Integers, product + shifter) - std::bit_cast<int64_t>(shifter);
        __builtin_memcpy(numbers + i, &number, sizeof(number));
    }
    for (; i < count; i++) numbers[i] = weighed(weights[i], unit, numbers[i]);
}

} // namespace btml::boosting::BTML_LEVEL
