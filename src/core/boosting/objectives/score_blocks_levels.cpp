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

// Sums by lane.
struct LaneSums {
    Floats residual{}, hessian{};
    Lanes loss{};
    LaneBits losses{};
};

[[gnu::always_inline]] inline void keep(const Floats& residual, const Floats& hessian, const Floats& loss, double scale,
                                        Derivative* to, LaneSums& sums) {
    constexpr bool is_little = std::endian::native == std::endian::little;
    const Floats size = residual < 0.0f ? -residual : residual;
    sums.residual = size > sums.residual ? size : sums.residual;
    sums.hessian = hessian > sums.hessian ? hessian : sums.hessian;
    const Lanes exact = __builtin_convertvector(loss, Lanes), most = exact < 0.0 ? -exact : exact;
    sums.loss = most > sums.loss ? most : sums.loss;
    // What is added leaves whole numbers in the lowest bits, rounded as llrint does.
    constexpr double shifter = 0x1.8p52;
    sums.losses += __builtin_bit_cast(LaneBits, exact * scale + shifter) - std::bit_cast<uint64_t>(shifter);
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
