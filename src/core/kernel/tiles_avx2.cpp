#include "core/kernel/tiles.hpp"

#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>

namespace btml::kernel {

namespace avx2 {

#define BTML_TILES [[gnu::target("avx2,fma")]]

constexpr size_t vector_floats = 8, queries_at_once = 4;
using Floats [[gnu::vector_size(vector_floats * sizeof(float))]] = float;

[[gnu::always_inline]] BTML_TILES inline Floats fused(Floats a, Floats b, Floats c) {
    return (Floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
[[gnu::always_inline]] BTML_TILES inline Floats larger(Floats a, Floats b) {
    return (Floats)_mm256_max_ps((__m256)a, (__m256)b);
}
[[gnu::always_inline]] BTML_TILES inline Floats smaller(Floats a, Floats b) {
    return (Floats)_mm256_min_ps((__m256)a, (__m256)b);
}
[[gnu::always_inline]] BTML_TILES inline Floats all(float x) {
    return (Floats)_mm256_set1_ps(x);
}

#include "core/kernel/tile_body.hpp"

} // namespace avx2

const TileFunctions* avx2_tile_functions() {
    return &avx2::functions;
}

} // namespace btml::kernel
#else
namespace btml::kernel {
const TileFunctions* avx2_tile_functions() {
    return nullptr;
}
} // namespace btml::kernel
#endif
