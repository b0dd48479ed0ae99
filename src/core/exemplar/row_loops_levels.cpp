#include "core/exemplar/row_loops.hpp"

namespace btml::exemplar {

namespace BTML_LEVEL {

namespace {

typedef double Lanes __attribute__((vector_size(group_columns * sizeof(double)), aligned(8)));

constexpr size_t near_lanes = 16;
typedef float NearLanes __attribute__((vector_size(near_lanes * sizeof(float)), aligned(4)));
typedef int NearFlags __attribute__((vector_size(near_lanes * sizeof(float))));

constexpr size_t block_rows = 8;

template <size_t count>
[[gnu::always_inline]] inline void multiply_rows(const Product& p, size_t first) {
    const double* const m = p.m + first * p.stride;
    Lanes sums[count] = {};
    for (size_t j = 0; j < p.columns; j++) {
        Lanes x;
        __builtin_memcpy(&x, p.x + j * group_columns, sizeof(x));
#pragma GCC unroll 8
        for (size_t i = 0; i < count; i++) sums[i] += x * m[i * p.stride + j];
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < count; i++) __builtin_memcpy(p.to + (first + i) * group_columns, &sums[i], sizeof(Lanes));
}

} // namespace

void multiply(const Product& p) {
    size_t i = 0;
    for (; i + block_rows <= p.rows; i += block_rows) multiply_rows<block_rows>(p, i);
    for (; i < p.rows; i++) multiply_rows<1>(p, i);
}

void add_outer_product(const OuterProduct& o) {
    for (size_t i = 0; i < o.rows; i++) {
        const double factor = o.factor * o.a[i];
        double* const row = o.m + i * o.stride;
        for (size_t j = 0; j < o.columns; j++) row[j] += factor * o.b[j];
    }
}

size_t find_near(const float* distances, const float* second, size_t rows, uint32_t* to) {
    size_t count = 0;
    for (size_t i = 0; i < rows; i += near_lanes) {
        NearLanes a, b;
        __builtin_memcpy(&a, distances + i, sizeof(a));
        __builtin_memcpy(&b, second + i, sizeof(b));
        const NearFlags nearer = a < b;
        uint64_t words[sizeof(NearFlags) / sizeof(uint64_t)];
        __builtin_memcpy(words, &nearer, sizeof(words));
        if (!(words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] | words[7])) continue;
        for (size_t lane = 0; lane < near_lanes; lane++) {
            to[count] = i + lane;
            count += distances[i + lane] < second[i + lane];
        }
    }
    return count;
}

} // namespace BTML_LEVEL

} // namespace btml::exemplar
