#include "core/kernel/tiles.hpp"

#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>

namespace btml::kernel {

namespace avx512 {

#define BTML_TILES [[gnu::target("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]]

constexpr size_t vector_floats = 16, queries_at_once = 8;
using Floats [[gnu::vector_size(vector_floats * sizeof(float))]] = float;

[[gnu::always_inline]] BTML_TILES inline Floats fused(Floats a, Floats b, Floats c) {
    return (Floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
// The masked form, because GCC 12 warns of an uninitialised variable within the plain one.
[[gnu::always_inline]] BTML_TILES inline Floats larger(Floats a, Floats b) {
    return (Floats)_mm512_mask_max_ps((__m512)a, 0xffff, (__m512)a, (__m512)b);
}
[[gnu::always_inline]] BTML_TILES inline Floats smaller(Floats a, Floats b) {
    return (Floats)_mm512_mask_min_ps((__m512)a, 0xffff, (__m512)a, (__m512)b);
}
[[gnu::always_inline]] BTML_TILES inline Floats all(float x) {
    return (Floats)_mm512_set1_ps(x);
}

#include "core/kernel/tile_body.hpp"

} // namespace avx512

const TileFunctions* avx512_tile_functions() {
    return &avx512::functions;
}

} // namespace btml::kernel
#else
namespace btml::kernel {
const TileFunctions* avx512_tile_functions() {
    return nullptr;
}
} // namespace btml::kernel
#endif
