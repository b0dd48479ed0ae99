// What tiles_*.cpp compile for their instruction sets. Each defines, before it includes this:
// BTML_TILES (the attributes of a function), vector_floats (in a vector register), queries_at_once, Floats (a vector),
// and fused(a, b, c) = a·b + c rounded once, larger(a, b) and smaller(a, b) (b where a is NaN), all(x).
// No #pragma once: each inclusion is in another namespace.

#define BTML_TILES_INLINE [[gnu::always_inline]] BTML_TILES inline

constexpr size_t vectors_at_once = 2;
using Bits [[gnu::vector_size(vector_floats * sizeof(uint32_t))]] = uint32_t;

BTML_TILES_INLINE Floats load(const float* from) {
    Floats to;
    __builtin_memcpy(&to, from, sizeof(Floats));
    return to;
}
BTML_TILES_INLINE void store(Floats from, float* to) {
    __builtin_memcpy(to, &from, sizeof(Floats));
}
BTML_TILES_INLINE Floats magnitude(Floats x) {
    return (Floats)((Bits)x & 0x7fffffffU);
}

// 2^−x for x ≥ 0, 0 below 2^−100. The fraction's polynomial is minimax with p(0) = 1: relative error 1.1e-7. It is
// 2^26 times too large, and the power so much too small, so that no product is a denormal number, which would be slow.
BTML_TILES_INLINE Floats power_of_half(Floats x) {
    constexpr float to_integer = 12582912 + 101; // 1.5·2^23: the sum's last bits are those of 101 − ⌊x⌉
    constexpr float scale = 0x1p26F;
    x = smaller(x, all(101));
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

struct Gaussian {
    BTML_TILES_INLINE static Floats add(Floats sum, Floats difference) { return fused(difference, difference, sum); }
    BTML_TILES_INLINE static Floats value(Floats sum) { return power_of_half(sum); }
};
struct Laplacian {
    BTML_TILES_INLINE static Floats add(Floats sum, Floats difference) { return sum + magnitude(difference); }
    BTML_TILES_INLINE static Floats value(Floats sum) { return power_of_half(sum); }
};
struct Epanechnikov {
    BTML_TILES_INLINE static Floats add(Floats sum, Floats difference) { return fused(difference, difference, sum); }
    BTML_TILES_INLINE static Floats value(Floats sum) { return larger(all(1) - sum, Floats{}); }
};

// Some queries against some vectors of keys.
template <class Shape, Form form>
BTML_TILES_INLINE void evaluate_part(const TileQueries& queries, const BlockKeys& keys, size_t dimensions,
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
                    sums[i][v] = Shape::add(sums[i][v], query - key[v]);
                else
                    sums[i][v] =
                        Shape::add(sums[i][v], (query - key[v]) + (all(low[k * tile_queries + i]) - key_low[v]));
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
                sum = larger(fused(all(-2), sum, norms + all(queries.norms[first_query + i])), Floats{});
            store(Shape::value(sum), tile + (first_query + i) * block_keys + key);
        }
    }
}

template <class Shape, Form form>
BTML_TILES void evaluate_form(const TileQueries& queries, const BlockKeys& keys, size_t dimensions, float* tile) {
    for (size_t key = 0; key < keys.vectors * keys_per_vector; key += vectors_at_once * vector_floats)
        for (size_t query = 0; query < tile_queries; query += queries_at_once)
            evaluate_part<Shape, form>(queries, keys, dimensions, query, key, tile);
}

template <class Shape>
void evaluate(Form form, const TileQueries& queries, const BlockKeys& keys, size_t dimensions, float* tile) {
    if constexpr (std::is_same_v<Shape, Gaussian>)
        if (form == Form::products) return evaluate_form<Shape, Form::products>(queries, keys, dimensions, tile);
    if (form == Form::wide) return evaluate_form<Shape, Form::wide>(queries, keys, dimensions, tile);
    evaluate_form<Shape, Form::differences>(queries, keys, dimensions, tile);
}

BTML_TILES void centre(const double* queries, const double* centre, size_t dimensions, float* high, float* low,
                       float* norms) {
    constexpr size_t some = vector_floats / 2;
    using Doubles [[gnu::vector_size(some * sizeof(double))]] = double;
    using Half [[gnu::vector_size(some * sizeof(float))]] = float;
    for (size_t k = 0; k < dimensions; k++)
        for (size_t i = k * tile_queries; i < (k + 1) * tile_queries; i += some) {
            Doubles x;
            __builtin_memcpy(&x, queries + i, sizeof(Doubles));
            x -= centre[k];
            const Half rounded = __builtin_convertvector(x, Half);
            __builtin_memcpy(high + i, &rounded, sizeof(Half));
            if (low) {
                const Half rest = __builtin_convertvector(x - __builtin_convertvector(rounded, Doubles), Half);
                __builtin_memcpy(low + i, &rest, sizeof(Half));
            }
        }
    if (!norms) return;
    for (size_t i = 0; i < tile_queries; i += vector_floats) {
        Floats sum{};
        for (size_t k = 0; k < dimensions; k++) {
            const Floats x = load(high + k * tile_queries + i);
            sum = fused(x, x, sum);
        }
        store(sum, norms + i);
    }
}

BTML_TILES void square(float* tile, size_t vectors) {
    constexpr float negligible = 0x1p-40F; // squares of less could be denormal numbers, which are slow
    for (size_t i = 0; i < tile_queries; i++)
        for (size_t key = 0; key < vectors * keys_per_vector; key += vector_floats) {
            float* const value = tile + i * block_keys + key;
            const Floats x = load(value);
            const Floats kept = (Floats)((Bits)(x > all(negligible)) & (Bits)x);
            store(kept * kept, value);
        }
}

BTML_TILES void multiply(float* tile, const float* mask, size_t vectors) {
    for (size_t i = 0; i < tile_queries; i++)
        for (size_t key = 0; key < vectors * keys_per_vector; key += vector_floats) {
            float* const value = tile + i * block_keys + key;
            store(load(value) * load(mask + key), value);
        }
}

BTML_TILES void exclude(float* tile, const uint32_t* of_keys, const uint32_t* of_queries, size_t vectors) {
    for (size_t i = 0; i < tile_queries; i++) {
        const Bits of_query = Bits{} + of_queries[i];
        for (size_t key = 0; key < vectors * keys_per_vector; key += vector_floats) {
            float* const value = tile + i * block_keys + key;
            Bits marks;
            __builtin_memcpy(&marks, of_keys + key, sizeof(Bits));
            store((Floats)((Bits)(marks != of_query) & (Bits)load(value)), value);
        }
    }
}

BTML_TILES void weigh(const float* tile, const float* weights, size_t vectors, double* sums) {
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

constexpr TileFunctions functions{
    centre, evaluate<Gaussian>, evaluate<Laplacian>, evaluate<Epanechnikov>, square, multiply, exclude, weigh};

#undef BTML_TILES_INLINE
