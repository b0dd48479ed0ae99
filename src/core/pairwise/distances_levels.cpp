#include "core/pairwise/distances.hpp"

#include "core/numbers/elementary.hpp"

namespace btml::pairwise {

namespace BTML_LEVEL {

namespace {

typedef float Floats __attribute__((vector_size(tile_rows * sizeof(float)), aligned(4)));
typedef unsigned Bits __attribute__((vector_size(tile_rows * sizeof(float)), aligned(4)));

struct Square {
    [[gnu::always_inline]] static void apply(Floats& x) { x *= x; }
};

struct Absolute {
    [[gnu::always_inline]] static void apply(Floats& x) {
        const Bits bits = reinterpret_cast<Bits&>(x) & 0x7fffffffU;
        __builtin_memcpy(&x, &bits, sizeof(x));
    }
};

// Each lane adds up one row's coordinates in their order, so the sums are the same whatever the width of vectors.
template <class Term>
[[gnu::always_inline]] inline void add_up(const TileSums& s) {
    for (size_t t = s.first; t < s.last; t++) {
        const float* tile = s.tiles + t * s.width * tile_rows;
        const float* point = s.points;
        Floats sums[group_points] = {};
        for (size_t f = 0; f < s.width; f++, tile += tile_rows, point += group_points) {
            Floats x;
            __builtin_memcpy(&x, tile, sizeof(x));
#pragma GCC unroll 8
            for (size_t c = 0; c < group_points; c++) {
                Floats term = x - point[c];
                Term::apply(term);
                sums[c] += term;
            }
        }
#pragma GCC unroll 8
        for (size_t c = 0; c < group_points; c++)
            __builtin_memcpy(s.to + c * s.stride + t * tile_rows, &sums[c], sizeof(Floats));
    }
}

} // namespace

void sum_squares(const TileSums& sums) {
    add_up<Square>(sums);
}

void sum_absolutes(const TileSums& sums) {
    add_up<Absolute>(sums);
}

void find_covariances(const Covariances& d) {
    for (size_t i = 0; i < d.count; i++) {
        Lanes sum{};
        for (size_t f = 0; f < d.width; f++) {
            Lanes x;
            __builtin_memcpy(&x, d.points + f * group_points, sizeof(x));
            x -= d.rows[i * d.width + f];
            sum += x * x;
        }
        sum *= -0.5;
        exponential<Lanes, LaneBits>(sum);
        sum *= d.signal;
        __builtin_memcpy(d.to + i * group_points, &sum, sizeof(Lanes));
    }
}

void sum_weighted_squares(const WeightedSquares& s) {
    for (size_t f = 0; f < s.width; f++) {
        Lanes point, sum{};
        __builtin_memcpy(&point, s.points + f * group_points, sizeof(point));
        for (size_t i = 0; i < s.count; i++) {
            Lanes weight;
            __builtin_memcpy(&weight, s.weights + i * group_points, sizeof(weight));
            const Lanes difference = point - s.rows[i * s.width + f];
            sum += weight * (difference * difference);
        }
        s.to[f] = 0;
        for (size_t c = 0; c < group_points; c++) s.to[f] += sum[c];
    }
}

} // namespace BTML_LEVEL

} // namespace btml::pairwise
