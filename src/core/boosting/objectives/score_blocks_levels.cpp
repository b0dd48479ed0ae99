#include "core/boosting/objectives/score_blocks.hpp"

#include "core/base/level_vectors.hpp"
#include "core/boosting/objectives/bounded_exponential.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

namespace btml::boosting::BTML_LEVEL {

namespace {

using btml::BTML_LEVEL::Bits;
using btml::BTML_LEVEL::Doubles;
using btml::BTML_LEVEL::Integers;
using btml::BTML_LEVEL::to_doubles;
using btml::BTML_LEVEL::width;
using Floats [[gnu::vector_size(width * sizeof(float))]] = float;
using FloatBits [[gnu::vector_size(width * sizeof(uint32_t))]] = uint32_t;

// Loads what a vector has, or as many as there are rows left, with zeros after them.
template <class Number, class Vector>
[[gnu::always_inline]] inline void load(const Number* from, size_t rows, Vector& to) {
    static_assert(sizeof(Vector) == width * sizeof(Number));
    if (rows < width) to = Vector{};
    __builtin_memcpy(&to, from, std::min(rows, width) * sizeof(Number));
}
template <class Vector, class Number>
[[gnu::always_inline]] inline void store(const Vector& from, size_t rows, Number* to) {
    static_assert(sizeof(Vector) == width * sizeof(Number));
    __builtin_memcpy(to, &from, std::min(rows, width) * sizeof(Number));
}

// body(i, count) for rows i, i + 1, …: as many as a vector has, which the compiler knows, and at last those left.
template <class Body>
[[gnu::always_inline]] inline void for_each_vector(size_t rows, const Body& body) {
    size_t i = 0;
    for (; i + width <= rows; i += width) body(i, std::integral_constant<size_t, width>());
    if (i < rows) body(i, rows - i);
}

// What is added to a double below 2^51 leaves its whole number in the lowest bits, rounded as llrint does.
constexpr double shifter = 0x1.8p52;

[[gnu::always_inline]] inline void round(const Doubles& x, Bits& to) {
    to = __builtin_bit_cast(Bits, x + shifter) - std::bit_cast<uint64_t>(shifter);
}

constexpr bool is_little = std::endian::native == std::endian::little;

// Loads the derivatives of a vector, or of as many rows as there are left.
[[gnu::always_inline]] inline void load_derivatives(const Derivative* from, size_t rows, Doubles& residual,
                                                    Doubles& hessian) {
    constexpr int residual_at = is_little ? 0 : 32, hessian_at = 32 - residual_at;
    Bits both;
    load(from, rows, both);
    residual = __builtin_convertvector(
        __builtin_bit_cast(Floats, __builtin_convertvector(both >> residual_at, FloatBits)), Doubles);
    hessian = __builtin_convertvector(
        __builtin_bit_cast(Floats, __builtin_convertvector(both >> hessian_at, FloatBits)), Doubles);
}

// The largest magnitudes by lane.
struct LargestByLane {
    Floats residual{}, hessian{};

    void add_to(BlockSums& sums) const {
        for (size_t lane = 0; lane < width; lane++) {
            if (residual[lane] > sums.residual) sums.residual = residual[lane];
            if (hessian[lane] > sums.hessian) sums.hessian = hessian[lane];
        }
    }
};

// Keeps the derivatives of a vector, or of as many rows as there are left.
[[gnu::always_inline]] inline void keep(const Floats& residual, const Floats& hessian, size_t rows, Derivative* to,
                                        LargestByLane& largest) {
    const Floats size = residual < 0.0f ? -residual : residual;
    largest.residual = size > largest.residual ? size : largest.residual;
    largest.hessian = hessian > largest.hessian ? hessian : largest.hessian;
    const auto r = __builtin_convertvector(__builtin_bit_cast(FloatBits, residual), Bits),
               h = __builtin_convertvector(__builtin_bit_cast(FloatBits, hessian), Bits);
    const Bits pairs = is_little ? r | h << 32 : r << 32 | h;
    store(pairs, rows, to);
}

} // namespace

void load_scores(const int64_t* scores, double unit, size_t rows, double* to) {
    for_each_vector(rows, [&](size_t i, auto count) {
        Integers held;
        Doubles f;
        load(scores + i, count, held);
        to_doubles(held, f);
        f *= unit;
        __builtin_memcpy(to + i, &f, sizeof(f));
    });
    for (size_t i = rows; i % lanes != 0; i++) to[i] = 0;
}

void raise_to_scores(const double* scores, size_t rows, double* largest) {
    for (size_t i = 0; i < rows; i += width) {
        Doubles f, most;
        load(scores + i, width, f);
        load(largest + i, width, most);
        most = f > most ? f : most;
        __builtin_memcpy(largest + i, &most, sizeof(most));
    }
}

void derive_label(const LabelRows& of, Derivative* to, BlockSums& sums) {
    LargestByLane largest;
    for_each_vector(of.rows, [&](size_t i, auto rows) {
        Integers scores;
        Doubles f, log_sum, label;
        load(of.scores + i, rows, scores);
        load(of.log_sums + i, rows, log_sum);
        load(of.labels + i, rows, label);
        to_doubles(scores, f);
        f = f * of.unit - log_sum;
        Doubles p = f > 0.0 ? Doubles{} : f;
        bounded_exponential<Bits>(p);
        const Doubles y = label == of.label ? Doubles{} + 1.0 : Doubles{};
        Floats residual = __builtin_convertvector(y - p, Floats),
               hessian = __builtin_convertvector(p * (1.0 - p) * of.factor, Floats);
        for (size_t lane = rows; lane < width; lane++) residual[lane] = hessian[lane] = 0;
        keep(residual, hessian, rows, to + i, largest);
    });
    largest.add_to(sums);
}

void round_derivatives(const Derivative* derivatives, size_t rows, double residual_scale, double hessian_scale,
                       Stats* to) {
    for_each_vector(rows, [&](size_t i, auto count) {
        Doubles r, h;
        load_derivatives(derivatives + i, count, r, h);
        Bits residual, hessian;
        round(r * residual_scale, residual);
        round(h * hessian_scale, hessian);
        hessian = __builtin_bit_cast(Integers, hessian) < 1 ? Bits{} + 1 : hessian;
        for (size_t lane = 0; lane < count; lane++)
            to[i + lane] = {static_cast<int64_t>(residual[lane]), static_cast<int64_t>(hessian[lane])};
    });
}

void weigh_derivatives(const Derivative* derivatives, const int64_t* weights, size_t rows, double residual_scale,
                       double hessian_scale, double unit, NodeSums* to) {
    for_each_vector(rows, [&](size_t i, auto count) {
        Doubles r, h, weight;
        Integers count_of;
        load_derivatives(derivatives + i, count, r, h);
        load(weights + i, count, count_of);
        to_doubles(count_of, weight);
        weight *= unit;
        r = (r * residual_scale + shifter) - shifter;
        h = (h * hessian_scale + shifter) - shifter;
        h = h < 1.0 ? Doubles{} + 1.0 : h;
        Bits residual, hessian;
        round(r * weight, residual);
        round(h * weight, hessian);
        hessian = __builtin_bit_cast(Integers, hessian) < 1 ? Bits{} + 1 : hessian;
        for (size_t lane = 0; lane < count; lane++)
            to[i + lane] = {{static_cast<int64_t>(residual[lane]), static_cast<int64_t>(hessian[lane])},
                            {0, count_of[lane]}};
    });
}

void keep_derivatives(const DerivativeBlock& block, double loss_scale, Derivative* to, BlockSums& sums) {
    LargestByLane largest;
    Doubles largest_loss{};
    Bits losses{};
    for_each_vector(block.rows, [&](size_t i, auto count) {
        Floats residual, hessian, loss;
        load(block.residuals + i, count, residual);
        load(block.hessians + i, count, hessian);
        load(block.losses + i, count, loss);
        keep(residual, hessian, count, to + i, largest);
        const Doubles exact = __builtin_convertvector(loss, Doubles), size = exact < 0.0 ? -exact : exact;
        largest_loss = size > largest_loss ? size : largest_loss;
        Bits rounded;
        round(exact * loss_scale, rounded);
        losses += rounded;
    });
    largest.add_to(sums);
    for (size_t lane = 0; lane < width; lane++) {
        if (largest_loss[lane] > sums.largest_loss) sums.largest_loss = largest_loss[lane];
        sums.losses += static_cast<int64_t>(losses[lane]);
    }
}

} // namespace btml::boosting::BTML_LEVEL
