// What transforms by either library share.
#include "core/relational/fourier.hpp"

#include <bit>

namespace btml::relational {

// For each product of powers of 3 and 5, the least power of two that makes it large enough.
uint64_t smooth_size(uint64_t size) {
    uint64_t best = std::bit_ceil(size);
    for (uint64_t fives = 1; fives < best; fives *= 5)
        for (uint64_t odd = fives; odd < best; odd *= 3)
            best = std::min(best, odd * std::bit_ceil((size + odd - 1) / odd));
    return best;
}

} // namespace btml::relational
