#include "core/gp/additive/upper_halves.hpp"

namespace btml::gp {

namespace BTML_LEVEL {

void add_deviations(const uint16_t* upper, const uint16_t* lower, float near, float far, size_t count, float* sums) {
    for (size_t s = 0; s < count; s++) sums[s] += near * from_upper_half(upper[s]) + far * from_upper_half(lower[s]);
}

} // namespace BTML_LEVEL

} // namespace btml::gp
