#include "core/base/level_vectors.hpp"
#include "core/boosting/objectives/bounded_exponential.hpp"
#include "core/boosting/objectives/derivatives.hpp"

namespace btml::boosting::BTML_LEVEL {

namespace {

using btml::BTML_LEVEL::Bits;
using btml::BTML_LEVEL::Doubles;
using btml::BTML_LEVEL::width;
using Floats [[gnu::vector_size(width * sizeof(float))]] = float;

[[gnu::always_inline]] inline void load(const double* from, Doubles& to) {
    __builtin_memcpy(&to, from, sizeof(Doubles));
}
[[gnu::always_inline]] inline void store(const Doubles& from, double* to) {
    __builtin_memcpy(to, &from, sizeof(Doubles));
}

// Rounds to floats, the nearest finite one where there is none.
[[gnu::always_inline]] inline void store(const Doubles& from, float* to) {
    constexpr double most = 3e38;
    Doubles x = from < -most ? Doubles{} - most : from;
    x = x > most ? Doubles{} + most : x;
    const Floats rounded = __builtin_convertvector(x, Floats);
    __builtin_memcpy(to, &rounded, sizeof(Floats));
}

// body(score, target, residual, hessian, loss) computes the last three.
template <class Body>
[[gnu::always_inline]] inline void for_each_row(DerivativeBlock& block, const Body& body) {
    for (size_t i = 0; i < block.rows; i += width) {
        Doubles score, target, residual, hessian, loss;
        load(block.scores + i, score);
        load(block.targets + i, target);
        body(score, target, residual, hessian, loss);
        store(residual, block.residuals + i);
        store(hessian, block.hessians + i);
        store(loss, block.losses + i);
    }
}

} // namespace

void derive_poisson(DerivativeBlock& block) {
    constexpr double largest_step = 2.0137527074704766; // e^0.7
    for_each_row(block, [](const Doubles& f, const Doubles& y, Doubles& residual, Doubles& hessian, Doubles& loss) {
        Doubles mean = f;
        bounded_exponential<Bits>(mean);
        residual = y - mean;
        hessian = mean * largest_step;
        loss = mean - y * f;
    });
}

void derive_gamma(DerivativeBlock& block) {
    for_each_row(block, [](const Doubles& f, const Doubles& y, Doubles& residual, Doubles& hessian, Doubles& loss) {
        Doubles ratio = -f;
        bounded_exponential<Bits>(ratio);
        ratio *= y;
        residual = ratio - 1.0;
        hessian = ratio;
        loss = f + ratio;
    });
}

void derive_tweedie(DerivativeBlock& block, double power) {
    const double low = 1 - power, high = 2 - power;
    for_each_row(block, [=](const Doubles& f, const Doubles& y, Doubles& residual, Doubles& hessian, Doubles& loss) {
        Doubles a = f * low, b = f * high;
        bounded_exponential<Bits>(a);
        bounded_exponential<Bits>(b);
        a *= y;
        residual = a - b;
        hessian = b * high - a * low;
        loss = b / high - a / low;
    });
}

void derive_binary(DerivativeBlock& block) {
    for_each_row(block, [](const Doubles& f, const Doubles& y, Doubles& residual, Doubles& hessian, Doubles& loss) {
        Doubles e = f < 0.0 ? f : -f;
        bounded_exponential<Bits>(e);
        const Doubles sum = 1.0 + e;
        const Doubles p = (f < 0.0 ? e : Doubles{} + 1.0) / sum;
        residual = y - p;
        hessian = e / (sum * sum);
        // ln(1 + e) corrected by what 1 + e rounded.
        Doubles log = sum;
        logarithm<Doubles, Bits>(log);
        log -= (sum - 1.0 - e) / sum;
        loss = (f < 0.0 ? Doubles{} : f) - y * f + log;
    });
}

void add_exponentials(const double* scores, const double* largest, size_t rows, double* sums) {
    for (size_t i = 0; i < rows; i += width) {
        Doubles x, most, sum;
        load(scores + i, x);
        load(largest + i, most);
        load(sums + i, sum);
        x -= most;
        bounded_exponential<Bits>(x);
        store(sum + x, sums + i);
    }
}

void take_logarithms(const double* largest, const double* sums, size_t rows, double* to) {
    for (size_t i = 0; i < rows; i += width) {
        Doubles x, most;
        load(sums + i, x);
        load(largest + i, most);
        logarithm<Doubles, Bits>(x);
        store(most + x, to + i);
    }
}

} // namespace btml::boosting::BTML_LEVEL
