#include "core/exemplar/near_rows.hpp"

namespace btml::exemplar {

namespace BTML_LEVEL {

constexpr size_t lanes = 16;
typedef float Lanes __attribute__((vector_size(lanes * sizeof(float)), aligned(4)));
typedef int Flags __attribute__((vector_size(lanes * sizeof(float))));

size_t find_near(const float* distances, const float* second, size_t rows, uint32_t* to) {
    size_t count = 0;
    for (size_t i = 0; i < rows; i += lanes) {
        Lanes a, b;
        __builtin_memcpy(&a, distances + i, sizeof(a));
        __builtin_memcpy(&b, second + i, sizeof(b));
        const Flags nearer = a < b;
        uint64_t words[sizeof(Flags) / sizeof(uint64_t)];
        __builtin_memcpy(words, &nearer, sizeof(words));
        if (!(words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] | words[7])) continue;
        for (size_t lane = 0; lane < lanes; lane++) {
            to[count] = i + lane;
            count += distances[i + lane] < second[i + lane];
        }
    }
    return count;
}

} // namespace BTML_LEVEL

} // namespace btml::exemplar
