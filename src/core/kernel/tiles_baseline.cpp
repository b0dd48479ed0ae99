#include "core/kernel/tiles.hpp"

#include <bit>
#include <type_traits>

namespace btml::kernel {

namespace baseline {

#define BTML_TILES

constexpr size_t vector_floats = 4, queries_at_once = 2;
using Floats [[gnu::vector_size(vector_floats * sizeof(float))]] = float;

// A processor without fused multiply-add: the product is exact in double, the sum is rounded to odd there, and so
// rounding to float afterwards is as if only it had happened (Boldo, Melquiond: Emulation of a FMA and Correctly
// Rounded Sums, IEEE Transactions on Computers 57(4), 2008).
[[gnu::always_inline]] inline float fused_one(float a, float b, float c) {
#if defined(__FP_FAST_FMAF)
    return __builtin_fmaf(a, b, c);
#else
    const double product = static_cast<double>(a) * static_cast<double>(b), term = c;
    const double sum = product + term, rounded_term = sum - product;
    const double error = (product - (sum - rounded_term)) + (term - rounded_term);
    const auto bits = std::bit_cast<int64_t>(sum);
    const int64_t towards = (error > 0) == (sum > 0) ? 1 : -1;
    return static_cast<float>(std::bit_cast<double>(bits + (error != 0 && bits % 2 == 0 ? towards : 0)));
#endif
}
[[gnu::always_inline]] inline Floats fused(Floats a, Floats b, Floats c) {
    return Floats{fused_one(a[0], b[0], c[0]), fused_one(a[1], b[1], c[1]), fused_one(a[2], b[2], c[2]),
                  fused_one(a[3], b[3], c[3])};
}
[[gnu::always_inline]] inline Floats larger(Floats a, Floats b) {
    return a > b ? a : b;
}
[[gnu::always_inline]] inline Floats smaller(Floats a, Floats b) {
    return a < b ? a : b;
}
[[gnu::always_inline]] inline Floats all(float x) {
    return Floats{x, x, x, x};
}

#include "core/kernel/tile_body.hpp"

} // namespace baseline

const TileFunctions& baseline_tile_functions() {
    return baseline::functions;
}

} // namespace btml::kernel
