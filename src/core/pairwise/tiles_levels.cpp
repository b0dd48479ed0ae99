#include "core/pairwise/tiles.hpp"

#include <bit>

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

namespace btml::pairwise::tiles {

namespace BTML_LEVEL {

namespace {

#if defined(__AVX512F__)
constexpr size_t vector_floats = 16, queries_at_once = 8;
using Floats [[gnu::vector_size(vector_floats * sizeof(float))]] = float;

[[gnu::always_inline]] inline Floats fused(Floats a, Floats b, Floats c) {
    return (Floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
using Half [[gnu::vector_size(vector_floats / 2 * sizeof(float))]] = float;
[[gnu::always_inline]] inline Half fused(Half a, Half b, Half c) {
    return (Half)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
// The masked form, because GCC 12 warns of an uninitialised variable within the plain one.
[[gnu::always_inline]] inline Floats larger_of(Floats a, Floats b) {
    return (Floats)_mm512_mask_max_ps((__m512)a, 0xffff, (__m512)a, (__m512)b);
}
[[gnu::always_inline]] inline Floats smaller_of(Floats a, Floats b) {
    return (Floats)_mm512_mask_min_ps((__m512)a, 0xffff, (__m512)a, (__m512)b);
}
[[gnu::always_inline]] inline Floats square_root(Floats x) {
    return (Floats)_mm512_mask_sqrt_ps((__m512)x, 0xffff, (__m512)x);
}
#elif defined(__AVX2__) && defined(__FMA__)
constexpr size_t vector_floats = 8, queries_at_once = 4;
using Floats [[gnu::vector_size(vector_floats * sizeof(float))]] = float;

[[gnu::always_inline]] inline Floats fused(Floats a, Floats b, Floats c) {
    return (Floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
using Half [[gnu::vector_size(vector_floats / 2 * sizeof(float))]] = float;
[[gnu::always_inline]] inline Half fused(Half a, Half b, Half c) {
    return (Half)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c);
}
[[gnu::always_inline]] inline Floats larger_of(Floats a, Floats b) {
    return (Floats)_mm256_max_ps((__m256)a, (__m256)b);
}
[[gnu::always_inline]] inline Floats smaller_of(Floats a, Floats b) {
    return (Floats)_mm256_min_ps((__m256)a, (__m256)b);
}
[[gnu::always_inline]] inline Floats square_root(Floats x) {
    return (Floats)_mm256_sqrt_ps((__m256)x);
}
#else
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
using Half [[gnu::vector_size(vector_floats / 2 * sizeof(float))]] = float;
[[gnu::always_inline]] inline Half fused(Half a, Half b, Half c) {
    return Half{fused_one(a[0], b[0], c[0]), fused_one(a[1], b[1], c[1])};
}
[[gnu::always_inline]] inline Floats larger_of(Floats a, Floats b) {
    return a > b ? a : b;
}
[[gnu::always_inline]] inline Floats smaller_of(Floats a, Floats b) {
    return a < b ? a : b;
}
[[gnu::always_inline]] inline Floats square_root(Floats x) {
    return Floats{__builtin_sqrtf(x[0]), __builtin_sqrtf(x[1]), __builtin_sqrtf(x[2]), __builtin_sqrtf(x[3])};
}
#endif

constexpr size_t vectors_at_once = 2;
using Bits [[gnu::vector_size(vector_floats * sizeof(uint32_t))]] = uint32_t;

[[gnu::always_inline]] inline Floats all(float x) {
    return x - Floats{};
}
[[gnu::always_inline]] inline Floats load(const float* from) {
    Floats to;
    __builtin_memcpy(&to, from, sizeof(Floats));
    return to;
}
[[gnu::always_inline]] inline void store(Floats from, float* to) {
    __builtin_memcpy(to, &from, sizeof(Floats));
}

// 2^−x for x ≥ 0, 0 below 2^−100. The fraction's polynomial is minimax with p(0) = 1: relative error 1.1e-7. It is
// 2^26 times too large, and the power so much too small, so that no product is a denormal number, which would be slow.
[[gnu::always_inline]] inline Floats two_to_minus(Floats x) {
    constexpr float to_integer = 12582912 + 101; // 1.5·2^23: the sum's last bits are those of 101 − ⌊x⌉
    constexpr float scale = 0x1p26F;
    x = smaller_of(x, all(101));
    const Floats shifted = all(to_integer) - x;
    const Floats fraction = (all(to_integer) - shifted) - x;
    Floats p = all(0x1.5bba14p-10F * scale);
    p = fused(p, fraction, all(0x1.3cea8ap-7F * scale));
    p = fused(p, fraction, all(0x1.c6b752p-5F * scale));
    p = fused(p, fraction, all(0x1.ebf9bcp-3F * scale));
    p = fused(p, fraction, all(0x1.62e42ap-1F * scale));
    p = fused(p, fraction, all(scale));
    return p * (Floats)((Bits)shifted << 23);
}

// Calculates for kernels, in vectors of float32, with the same bits at every level.
struct TileArithmetic {
    using Number = Floats;
    [[gnu::always_inline]] static Floats number(double x) { return all(x); }
    [[gnu::always_inline]] static Floats multiply_add(Floats a, Floats b, Floats c) { return fused(a, b, c); }
    [[gnu::always_inline]] static Floats magnitude(Floats x) { return (Floats)((Bits)x & 0x7fffffffU); }
    [[gnu::always_inline]] static Floats larger(Floats a, Floats b) { return larger_of(a, b); }
    [[gnu::always_inline]] static Floats smaller(Floats a, Floats b) { return smaller_of(a, b); }
    [[gnu::always_inline]] static Floats root(Floats x) { return square_root(x); }
    [[gnu::always_inline]] static Floats power_of_half(Floats x) { return two_to_minus(x); }
};

// Some queries against some vectors of keys.
template <class Shape, Form form>
[[gnu::always_inline]] inline void evaluate_part(const TileQueries& queries, const BlockKeys& keys, size_t dimensions,
                                                 size_t first_query, size_t first_key, float* tile) {
    Floats sums[queries_at_once][vectors_at_once] = {};
    size_t at[vectors_at_once];
    for (size_t v = 0; v < vectors_at_once; v++) {
        const size_t key = first_key + v * vector_floats;
        at[v] = key / keys_per_vector * keys_per_vector * dimensions + key % keys_per_vector;
    }
    const float* high = queries.high + first_query;
    const float* low = form == Form::wide ? queries.low + first_query : nullptr;
    for (size_t k = 0; k < dimensions; k++) {
        Floats key[vectors_at_once], key_low[vectors_at_once];
#pragma GCC unroll 2
        for (size_t v = 0; v < vectors_at_once; v++) {
            key[v] = load(keys.high + at[v] + k * keys_per_vector);
            if constexpr (form == Form::wide) key_low[v] = load(keys.low + at[v] + k * keys_per_vector);
        }
#pragma GCC unroll 8
        for (size_t i = 0; i < queries_at_once; i++) {
            const Floats query = all(high[k * tile_queries + i]);
#pragma GCC unroll 2
            for (size_t v = 0; v < vectors_at_once; v++) {
                if constexpr (form == Form::products)
                    sums[i][v] = fused(query, key[v], sums[i][v]);
                else if constexpr (form == Form::differences)
                    sums[i][v] = Shape::Metric::template add<TileArithmetic>(sums[i][v], query - key[v]);
                else
                    sums[i][v] = Shape::Metric::template add<TileArithmetic>(
                        sums[i][v], (query - key[v]) + (all(low[k * tile_queries + i]) - key_low[v]));
            }
        }
    }
#pragma GCC unroll 2
    for (size_t v = 0; v < vectors_at_once; v++) {
        const size_t key = first_key + v * vector_floats;
        Floats norms{};
        if constexpr (form == Form::products) norms = load(keys.norms + key);
#pragma GCC unroll 8
        for (size_t i = 0; i < queries_at_once; i++) {
            Floats sum = sums[i][v];
            // Equal points: their product is their norm, formed in the same steps, and the difference is 0 exactly.
            if constexpr (form == Form::products)
                sum = larger_of(fused(all(-2), sum, norms + all(queries.norms[first_query + i])), Floats{});
            store(Shape::template value<TileArithmetic>(sum), tile + (first_query + i) * block_keys + key);
        }
    }
}

template <class Shape, Form form>
void evaluate_form(const TileQueries& queries, const BlockKeys& keys, size_t dimensions, float* tile) {
    for (size_t key = 0; key < keys.vectors * keys_per_vector; key += vectors_at_once * vector_floats)
        for (size_t query = 0; query < tile_queries; query += queries_at_once)
            evaluate_part<Shape, form>(queries, keys, dimensions, query, key, tile);
}

template <class Shape>
void evaluate_kernel(Form form, const TileQueries& queries, const BlockKeys& keys, size_t dimensions, float* tile) {
    if constexpr (Shape::takes_products)
        if (form == Form::products) return evaluate_form<Shape, Form::products>(queries, keys, dimensions, tile);
    if (form == Form::wide) return evaluate_form<Shape, Form::wide>(queries, keys, dimensions, tile);
    evaluate_form<Shape, Form::differences>(queries, keys, dimensions, tile);
}

} // namespace

void centre(const double* queries, const double* centre_of_block, size_t dimensions, float* high, float* low,
            float* norms) {
    constexpr size_t some = vector_floats / 2;
    using Doubles [[gnu::vector_size(some * sizeof(double))]] = double;
    Half sums[tile_queries / some] = {};
    for (size_t k = 0; k < dimensions; k++)
#pragma GCC unroll 4
        for (size_t part = 0; part < tile_queries / some; part++) {
            const size_t i = k * tile_queries + part * some;
            Doubles x;
            __builtin_memcpy(&x, queries + i, sizeof(Doubles));
            x -= centre_of_block[k];
            const Half rounded = __builtin_convertvector(x, Half);
            __builtin_memcpy(high + i, &rounded, sizeof(Half));
            if (low) {
                const Half rest = __builtin_convertvector(x - __builtin_convertvector(rounded, Doubles), Half);
                __builtin_memcpy(low + i, &rest, sizeof(Half));
            }
            if (norms)
                sums[part] = fused(rounded, rounded, sums[part]); // beside the conversions, as one waits for another
        }
    if (norms) __builtin_memcpy(norms, sums, sizeof(sums));
}

void square(float* tile, size_t vectors) {
    constexpr float negligible = 0x1p-40F; // squares of less could be denormal numbers, which are slow
    for (size_t i = 0; i < tile_queries; i++)
        for (size_t key = 0; key < vectors * keys_per_vector; key += vector_floats) {
            float* const value = tile + i * block_keys + key;
            const Floats x = load(value);
            const Floats kept = (Floats)((Bits)(x > all(negligible)) & (Bits)x);
            store(kept * kept, value);
        }
}

void multiply(float* tile, const float* mask, size_t vectors) {
    for (size_t i = 0; i < tile_queries; i++)
        for (size_t key = 0; key < vectors * keys_per_vector; key += vector_floats) {
            float* const value = tile + i * block_keys + key;
            store(load(value) * load(mask + key), value);
        }
}

void weigh(const float* tile, const float* weights, size_t vectors, double* sums) {
    constexpr size_t parts = keys_per_vector / vector_floats;
    using Eight [[gnu::vector_size(8 * sizeof(double))]] = double;
    using EightFloats [[gnu::vector_size(8 * sizeof(float))]] = float;
    for (size_t query = 0; query < tile_queries; query += queries_at_once) {
        Floats partial[queries_at_once][parts] = {};
        for (size_t v = 0; v < vectors; v++) {
#pragma GCC unroll 4
            for (size_t part = 0; part < parts; part++) {
                const size_t key = v * keys_per_vector + part * vector_floats;
                const Floats weight = load(weights + key);
#pragma GCC unroll 8
                for (size_t i = 0; i < queries_at_once; i++)
                    partial[i][part] = fused(load(tile + (query + i) * block_keys + key), weight, partial[i][part]);
            }
        }
#pragma GCC unroll 8
        for (size_t i = 0; i < queries_at_once; i++) {
            EightFloats halves[2];
            __builtin_memcpy(halves, partial[i], sizeof(halves));
            Eight sum;
            __builtin_memcpy(&sum, sums + (query + i) * 8, sizeof(Eight));
            sum += __builtin_convertvector(halves[0], Eight) + __builtin_convertvector(halves[1], Eight);
            __builtin_memcpy(sums + (query + i) * 8, &sum, sizeof(Eight));
        }
    }
}

void evaluate(Kernel kernel, Form form, const TileQueries& queries, const BlockKeys& keys, size_t dimensions,
              float* tile) {
    constexpr auto functions =
        Kernels::map([]<class Shape>(std::type_identity<Shape>) { return &evaluate_kernel<Shape>; });
    functions[static_cast<size_t>(kernel)](form, queries, keys, dimensions, tile);
}

} // namespace BTML_LEVEL

} // namespace btml::pairwise::tiles
