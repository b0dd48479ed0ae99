#include "core/exemplar/dissimilarity_kernels.hpp"

#include "core/base/clones.hpp"

namespace btml::exemplar {

namespace {

typedef float Lanes __attribute__((vector_size(tile_rows * sizeof(float)), aligned(4)));
typedef unsigned Bits __attribute__((vector_size(tile_rows * sizeof(float)), aligned(4)));

struct Square {
    [[gnu::always_inline]] static void apply(Lanes& x) { x *= x; }
};

struct Absolute {
    [[gnu::always_inline]] static void apply(Lanes& x) {
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
        Lanes sums[group_points] = {};
        for (size_t f = 0; f < s.width; f++, tile += tile_rows, point += group_points) {
            Lanes x;
            __builtin_memcpy(&x, tile, sizeof(x));
#pragma GCC unroll 8
            for (size_t c = 0; c < group_points; c++) {
                Lanes term = x - point[c];
                Term::apply(term);
                sums[c] += term;
            }
        }
#pragma GCC unroll 8
        for (size_t c = 0; c < group_points; c++)
            __builtin_memcpy(s.to + c * s.stride + t * tile_rows, &sums[c], sizeof(Lanes));
    }
}

} // namespace

BTML_CLONES
void sum_squares(const TileSums& sums) {
    add_up<Square>(sums);
}

BTML_CLONES
void sum_absolutes(const TileSums& sums) {
    add_up<Absolute>(sums);
}

} // namespace btml::exemplar
