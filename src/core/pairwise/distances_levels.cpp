#include "core/pairwise/distances.hpp"

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

} // namespace BTML_LEVEL

} // namespace btml::pairwise
