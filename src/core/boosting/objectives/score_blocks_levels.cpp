#include "core/boosting/objectives/score_blocks.hpp"

#include "core/boosting/objectives/bounded_exponential.hpp"

#include <bit>

namespace btml::boosting::BTML_LEVEL {

namespace {

using Integers [[gnu::vector_size(lanes * sizeof(int64_t))]] = int64_t;
using Floats [[gnu::vector_size(lanes * sizeof(float))]] = float;
using FloatBits [[gnu::vector_size(lanes * sizeof(uint32_t))]] = uint32_t;

// Copies all lanes, or as many as there are rows left.
template <class From, class To>
[[gnu::always_inline]] inline void copy(const From* from, size_t rows, To* to) {
    if (rows >= lanes)
        __builtin_memcpy(to, from, lanes * sizeof(*to));
    else
        __builtin_memcpy(to, from, rows * sizeof(*to));
}
template <class Number, class Vector>
[[gnu::always_inline]] inline void load(const Number* from, size_t rows, Vector& to) {
    Number numbers[lanes] = {};
    copy(from, rows, numbers);
    __builtin_memcpy(&to, numbers, sizeof(to));
}

// What is added to a double below 2^51 leaves its whole number in the lowest bits, rounded as llrint does.
constexpr double shifter = 0x1.8p52;

[[gnu::always_inline]] inline void round(const Lanes& x, LaneBits& to) {
    to = __builtin_bit_cast(LaneBits, x + shifter) - std::bit_cast<uint64_t>(shifter);
}

constexpr bool is_little = std::endian::native == std::endian::little;

// The largest magnitudes by lane.
struct LargestByLane {
    Floats residual{}, hessian{};

    void add_to(BlockSums& sums) const {
        for (size_t lane = 0; lane < lanes; lane++) {
            if (residual[lane] > sums.residual) sums.residual = residual[lane];
            if (hessian[lane] > sums.hessian) sums.hessian = hessian[lane];
        }
    }
};

// Keeps the derivatives of all lanes, or of as many rows as there are left.
[[gnu::always_inline]] inline void keep(const Floats& residual, const Floats& hessian, size_t rows, Derivative* to,
                                        LargestByLane& largest) {
    const Floats size = residual < 0.0f ? -residual : residual;
    largest.residual = size > largest.residual ? size : largest.residual;
    largest.hessian = hessian > largest.hessian ? hessian : largest.hessian;
    const auto r = __builtin_convertvector(__builtin_bit_cast(FloatBits, residual), LaneBits),
               h = __builtin_convertvector(__builtin_bit_cast(FloatBits, hessian), LaneBits);
    const LaneBits pairs = is_little ? r | h << 32 : r << 32 | h;
    Derivative kept[lanes];
    __builtin_memcpy(kept, &pairs, sizeof(pairs));
    copy(kept, rows, to);
}

} // namespace

void load_scores(const int64_t* scores, double unit, size_t rows, double* to) {
    for (size_t i = 0; i < rows; i += lanes) {
        Integers held;
        load(scores + i, rows - i, held);
        const Lanes f = __builtin_convertvector(held, Lanes) * unit;
        __builtin_memcpy(to + i, &f, sizeof(f));
    }
}

void raise_to_scores(const double* scores, size_t rows, double* largest) {
    for (size_t i = 0; i < rows; i += lanes) {
        Lanes f, most;
        load(scores + i, lanes, f);
        load(largest + i, lanes, most);
        most = f > most ? f : most;
        __builtin_memcpy(largest + i, &most, sizeof(most));
    }
}

void derive_label(const LabelRows& of, Derivative* to, BlockSums& sums) {
    LargestByLane largest;
    for (size_t i = 0; i < of.rows; i += lanes) {
        const size_t rows = of.rows - i;
        Integers scores;
        Lanes log_sum, label;
        load(of.scores + i, rows, scores);
        load(of.log_sums + i, rows, log_sum);
        load(of.labels + i, rows, label);
        const Lanes f = __builtin_convertvector(scores, Lanes) * of.unit - log_sum;
        Lanes p = f > 0.0 ? Lanes{} : f;
        bounded_exponential(p);
        const Lanes y = label == of.label ? Lanes{} + 1.0 : Lanes{};
        Floats residual = __builtin_convertvector(y - p, Floats),
               hessian = __builtin_convertvector(p * (1.0 - p) * of.factor, Floats);
        for (size_t lane = rows; lane < lanes; lane++) residual[lane] = hessian[lane] = 0;
        keep(residual, hessian, rows, to + i, largest);
    }
    largest.add_to(sums);
}

void round_derivatives(const Derivative* derivatives, size_t rows, double residual_scale, double hessian_scale,
                       Stats* to) {
    constexpr int residual_at = is_little ? 0 : 32, hessian_at = 32 - residual_at;
    for (size_t i = 0; i < rows; i += lanes) {
        Derivative pairs[lanes] = {};
        copy(derivatives + i, rows - i, pairs);
        LaneBits both, residual, hessian;
        __builtin_memcpy(&both, pairs, sizeof(both));
        const auto r = __builtin_bit_cast(Floats, __builtin_convertvector(both >> residual_at, FloatBits)),
                   h = __builtin_bit_cast(Floats, __builtin_convertvector(both >> hessian_at, FloatBits));
        round(__builtin_convertvector(r, Lanes) * residual_scale, residual);
        round(__builtin_convertvector(h, Lanes) * hessian_scale, hessian);
        hessian = __builtin_bit_cast(Integers, hessian) < 1 ? LaneBits{} + 1 : hessian;
        const size_t count = rows - i < lanes ? rows - i : lanes;
        for (size_t lane = 0; lane < count; lane++)
            to[i + lane] = {static_cast<int64_t>(residual[lane]), static_cast<int64_t>(hessian[lane])};
    }
}

void keep_derivatives(const DerivativeBlock& block, double loss_scale, Derivative* to, BlockSums& sums) {
    LargestByLane largest;
    Lanes largest_loss{};
    LaneBits losses{};
    for (size_t i = 0; i < block.rows; i += lanes) {
        Floats residual, hessian, loss;
        load(block.residuals + i, block.rows - i, residual);
        load(block.hessians + i, block.rows - i, hessian);
        load(block.losses + i, block.rows - i, loss);
        keep(residual, hessian, block.rows - i, to + i, largest);
        const Lanes exact = __builtin_convertvector(loss, Lanes), size = exact < 0.0 ? -exact : exact;
        largest_loss = size > largest_loss ? size : largest_loss;
        LaneBits rounded;
        round(exact * loss_scale, rounded);
        losses += rounded;
    }
    largest.add_to(sums);
    for (size_t lane = 0; lane < lanes; lane++) {
        if (largest_loss[lane] > sums.largest_loss) sums.largest_loss = largest_loss[lane];
        sums.losses += static_cast<int64_t>(losses[lane]);
    }
}

} // namespace btml::boosting::BTML_LEVEL
