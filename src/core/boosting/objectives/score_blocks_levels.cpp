#include "core/boosting/objectives/score_blocks.hpp"

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

// Sums by lane.
struct LaneSums {
    Floats residual{}, hessian{};
    Lanes loss{};
    LaneBits losses{};
};

constexpr bool is_little = std::endian::native == std::endian::little;

[[gnu::always_inline]] inline void keep(const Floats& residual, const Floats& hessian, const Floats& loss, double scale,
                                        Derivative* to, LaneSums& sums) {
    const Floats size = residual < 0.0f ? -residual : residual;
    sums.residual = size > sums.residual ? size : sums.residual;
    sums.hessian = hessian > sums.hessian ? hessian : sums.hessian;
    const Lanes exact = __builtin_convertvector(loss, Lanes), most = exact < 0.0 ? -exact : exact;
    sums.loss = most > sums.loss ? most : sums.loss;
    LaneBits rounded;
    round(exact * scale, rounded);
    sums.losses += rounded;
    const auto r = __builtin_convertvector(__builtin_bit_cast(FloatBits, residual), LaneBits),
               h = __builtin_convertvector(__builtin_bit_cast(FloatBits, hessian), LaneBits);
    const LaneBits pairs = is_little ? r | h << 32 : r << 32 | h;
    __builtin_memcpy(to, &pairs, sizeof(pairs));
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

void turn_to_label(const double* log_sums, double label, DerivativeBlock& block) {
    for (size_t i = 0; i < block.rows; i += lanes) {
        Lanes f, log_sum, y;
        load(block.scores + i, lanes, f);
        load(block.targets + i, lanes, y);
        load(log_sums + i, block.rows - i, log_sum);
        f -= log_sum;
        y = y == label ? Lanes{} + 1.0 : Lanes{};
        __builtin_memcpy(block.scores + i, &f, sizeof(f));
        __builtin_memcpy(block.targets + i, &y, sizeof(y));
    }
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
    LaneSums by_lane;
    for (size_t i = 0; i < block.rows; i += lanes) {
        Floats residual, hessian, loss;
        load(block.residuals + i, block.rows - i, residual);
        load(block.hessians + i, block.rows - i, hessian);
        load(block.losses + i, block.rows - i, loss);
        Derivative pairs[lanes];
        keep(residual, hessian, loss, loss_scale, pairs, by_lane);
        copy(pairs, block.rows - i, to + i);
    }
    for (size_t lane = 0; lane < lanes; lane++) {
        if (by_lane.residual[lane] > sums.residual) sums.residual = by_lane.residual[lane];
        if (by_lane.hessian[lane] > sums.hessian) sums.hessian = by_lane.hessian[lane];
        if (by_lane.loss[lane] > sums.largest_loss) sums.largest_loss = by_lane.loss[lane];
        sums.losses += static_cast<int64_t>(by_lane.losses[lane]);
    }
}

} // namespace btml::boosting::BTML_LEVEL
